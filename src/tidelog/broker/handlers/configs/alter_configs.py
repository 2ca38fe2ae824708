"""AlterConfigs: the old form, which replaces all settings of a resource by those it names."""

from tidelog.broker.handlers.configs.permissions import screen
from tidelog.broker.requests.context import Context
from tidelog.metadata.configs.alter_configs import ConfigAlteration, decide_alter_configs
from tidelog.metadata.configs.edits import ConfigEdit
from tidelog.wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)


async def handle(context: Context, request: AlterConfigsRequest) -> AlterConfigsResponse:
    metadata = context.services.metadata
    wanted = [
        ConfigAlteration(
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
            edits=[ConfigEdit(config.name, config.value) for config in resource.configs],
        )
        for resource in request.resources
    ]
    allowed, refused = screen(context, wanted)
    results = await metadata.change(
        lambda image: decide_alter_configs(
            image,
            allowed,
            node_id=metadata.node_id,
            config=metadata.config,
            validate_only=request.validate_only,
        )
    )
    return AlterConfigsResponse(
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
