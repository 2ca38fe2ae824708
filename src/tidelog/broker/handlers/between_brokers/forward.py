"""Forward: another broker passes on what its client asked of the controller.

The broker must be one, by its permission CLUSTER_ACTION; then the client's principal decides, which it names.
"""

from functools import partial

from tidelog.base.errors import ErrorCode, ProtocolError
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.context import Context, Services
from tidelog.broker.requests.tries import Tries
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.forward import ForwardRequest, ForwardResponse


async def handle(context: Context, request: ForwardRequest) -> ForwardResponse:
    if not context.allows_on_cluster(Operation.CLUSTER_ACTION):
        return ForwardResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    services = context.services
    if request.cluster_id and request.cluster_id != services.metadata.image.cluster_id:
        return ForwardResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
    if not _is_of_the_present(request, services.metadata):
        return ForwardResponse(error_code=ErrorCode.NOT_CONTROLLER)
    return await services.forwarded_once.answer(request, partial(_serve, services, request))


async def _serve(services: Services, request: ForwardRequest) -> ForwardResponse:
    metadata = services.metadata
    if not _is_of_the_present(request, metadata):  # a turn of the loop has passed
        return ForwardResponse(error_code=ErrorCode.NOT_CONTROLLER)
    client = ClientConnection(request.client_host, 0, request.listener)
    client.principal = request.principal
    tries = Tries(request.token, max(request.attempt, 0)) if request.token else None
    try:
        answer = await services.answer_forwarded(memoryview(request.request_data), client, tries)
    except ProtocolError:  # its sender may have left, and nothing else would take note of it
        return ForwardResponse(error_code=ErrorCode.INVALID_REQUEST)
    if answer is None:  # another broker has become the controller
        return ForwardResponse(error_code=ErrorCode.NOT_CONTROLLER)
    return ForwardResponse(metadata_version=metadata.version, response_data=answer)


def _is_of_the_present(request: ForwardRequest, metadata: MetadataService) -> bool:
    """Whether it is for this broker as the controller it is now, from the process that its sender is now."""
    sender = metadata.image.brokers.get(request.broker_id)
    is_known = sender is not None and sender.incarnation == request.incarnation
    return is_known and metadata.is_controller and metadata.term == request.term
