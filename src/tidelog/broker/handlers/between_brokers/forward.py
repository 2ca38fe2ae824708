"""Forward: another broker passes on what its client asked of the controller."""

from tidelog.base.errors import ErrorCode
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.context import Context
from tidelog.wire.messages.forward import ForwardRequest, ForwardResponse


async def handle(context: Context, request: ForwardRequest) -> ForwardResponse:
    services = context.services
    metadata = services.metadata
    if request.cluster_id and request.cluster_id != metadata.image.cluster_id:
        return ForwardResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
    if not metadata.is_controller:
        return ForwardResponse(error_code=ErrorCode.NOT_CONTROLLER)
    client = ClientConnection(request.client_host, 0, request.listener)
    client.principal = request.principal
    answer = await services.answer_forwarded(memoryview(request.request_data), client, request.token)
    if answer is None:  # it ceased to be the controller meanwhile
        return ForwardResponse(error_code=ErrorCode.NOT_CONTROLLER)
    return ForwardResponse(metadata_version=metadata.version, response_data=answer)
