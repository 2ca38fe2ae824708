"""Permissions on settings: those of topics and groups belong to them, those of brokers to the cluster."""

from collections import Counter
from collections.abc import Sequence

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.config_resources import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from tidelog.broker.requests.context import Context
from tidelog.metadata.configs.alter_configs import AlteredConfig, ConfigAlteration
from tidelog.security.acls.vocabulary import CLUSTER_NAME, Operation, ResourceType

_OWNERS = {
    TOPIC: (ResourceType.TOPIC, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
    GROUP: (ResourceType.GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED),
    BROKER: (ResourceType.CLUSTER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
    BROKER_LOGGER: (ResourceType.CLUSTER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
    CLIENT_METRICS: (ResourceType.CLUSTER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
}


def check_settings(context: Context, operation: Operation, resource_type: int, name: str) -> None:
    """Raises KafkaError for a resource whose settings the client may not see or change."""
    if resource_type not in _OWNERS:
        return  # there are no settings to protect
    owner, error = _OWNERS[resource_type]
    if not context.allows(operation, owner, CLUSTER_NAME if owner is ResourceType.CLUSTER else name):
        raise KafkaError(error)


def screen(
    context: Context, wanted: Sequence[ConfigAlteration]
) -> tuple[list[ConfigAlteration], list[AlteredConfig]]:
    """Returns the alterations that the client may make, and the refusals of the others.

    A resource that occurs twice is refused anyway.
    """
    times = Counter((one.resource_type, one.resource_name) for one in wanted)
    allowed: list[ConfigAlteration] = []
    refused: list[AlteredConfig] = []
    for one in wanted:
        resource = one.resource_type, one.resource_name
        try:
            if times[resource] == 1:
                check_settings(context, Operation.ALTER_CONFIGS, *resource)
            allowed.append(one)
        except KafkaError as error:
            refused.append(AlteredConfig.refused(error, resource_type=resource[0], resource_name=resource[1]))
    return allowed, refused
