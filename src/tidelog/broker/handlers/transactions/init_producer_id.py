"""InitProducerId: an id and epoch for an idempotent producer, or for the next of a transactional id."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.handlers.transactions.init_transactional_producer import init_transactional, refused
from tidelog.broker.handlers.when_served import waits_for_transactional_id
from tidelog.broker.requests.context import Context
from tidelog.security.acls.vocabulary import CLUSTER_NAME, Operation, ResourceType
from tidelog.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse


@waits_for_transactional_id
async def handle(context: Context, request: InitProducerIdRequest) -> InitProducerIdResponse:
    if request.transactional_id is not None:
        return await init_transactional(context, request)
    if (request.producer_id < 0) != (request.producer_epoch < 0):
        return refused(ErrorCode.INVALID_REQUEST)
    # A client that may write to any topic may do so idempotently, too (KIP-679).
    if not context.may(Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, CLUSTER_NAME) and not (
        context.allows_on_any(Operation.WRITE, ResourceType.TOPIC)
    ):
        return refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    try:
        producer_id = await context.services.producer_ids.take()
    except KafkaError as error:  # a new block of ids could not be written down
        return refused(error.code)
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)
