"""ListConfigResources: resources with settings. Version 0 asks for client metrics subscriptions only."""

from tidelog.base.errors import ErrorCode
from tidelog.broker.requests.config_resources import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from tidelog.broker.requests.context import Context
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

RESOURCE_TYPES = {TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP}


def handle(context: Context, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
    if not context.allows_on_cluster(Operation.DESCRIBE_CONFIGS):
        return ListConfigResourcesResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    image = context.services.metadata.image
    wanted = set(request.resource_types) or RESOURCE_TYPES
    if context.version == 0:
        wanted = {CLIENT_METRICS}
    if not wanted <= RESOURCE_TYPES:
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    names = {
        TOPIC: list(image.topics),
        BROKER: [str(id) for id in image.brokers],
        GROUP: list(image.group_configs),  # those with settings of their own
        CLIENT_METRICS: list(image.client_metrics),
    }
    # There are no loggers with settings of their own here.
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind)
            for kind in sorted(wanted)
            for name in names.get(kind, [])
        ]
    )
