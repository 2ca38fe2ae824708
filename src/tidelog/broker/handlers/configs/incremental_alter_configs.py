"""IncrementalAlterConfigs: set, delete, append to or subtract from single settings.

The levels of loggers belong to a process: the broker that they are sent to changes its own.
"""

from collections import Counter

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.handlers.configs.permissions import check_settings, screen
from tidelog.broker.log_levels import change_levels
from tidelog.broker.requests.config_resources import BROKER_LOGGER
from tidelog.broker.requests.context import Context
from tidelog.metadata.configs.alter_configs import ConfigAlteration, decide_incremental_alter_configs
from tidelog.metadata.configs.edits import ConfigEdit
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)


def stays_here(request: IncrementalAlterConfigsRequest) -> bool:
    resources = request.resources
    return bool(resources) and all(one.resource_type == BROKER_LOGGER for one in resources)


async def handle(
    context: Context, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    if stays_here(request):
        return _change_loggers(context, request)
    metadata = context.services.metadata
    wanted = [
        ConfigAlteration(
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
            edits=[ConfigEdit(c.name, c.value, c.config_operation) for c in resource.configs],
        )
        for resource in request.resources
    ]
    allowed, refused = screen(context, wanted)
    results = await metadata.change(
        lambda image: decide_incremental_alter_configs(
            image,
            allowed,
            node_id=metadata.node_id,
            config=metadata.config,
            validate_only=request.validate_only,
        )
    )
    return IncrementalAlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(
                error_code=result.error,
                error_message=result.message,
                resource_type=result.resource_type,
                resource_name=result.resource_name,
            )
            for result in (*results, *refused)
        ]
    )


def _change_loggers(
    context: Context, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    times = Counter(resource.resource_name for resource in request.resources)
    return IncrementalAlterConfigsResponse(
        responses=[
            _changed_loggers(
                context, resource, is_repeated=times[resource.resource_name] > 1, dry=request.validate_only
            )
            for resource in request.resources
        ]
    )


def _changed_loggers(
    context: Context, resource: AlterConfigsResource, *, is_repeated: bool, dry: bool
) -> AlterConfigsResourceResponse:
    name, node_id = resource.resource_name, context.services.metadata.node_id
    result = AlterConfigsResourceResponse(resource_type=resource.resource_type, resource_name=name)
    try:
        if is_repeated:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
        check_settings(context, Operation.ALTER_CONFIGS, resource.resource_type, name)
        if name != str(node_id):
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"Unexpected node id. Expected {node_id}, but received {name or 'an empty name'}",
            )
        change_levels(
            [ConfigEdit(one.name, one.value, one.config_operation) for one in resource.configs],
            validate_only=dry,
        )
    except KafkaError as error:
        result.error_code, result.error_message = error.code, error.message
    return result
