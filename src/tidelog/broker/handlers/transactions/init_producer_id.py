"""InitProducerId: an id and epoch for an idempotent producer, or for the next of a transactional id."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.handlers.transactions.init_transactional_producer import init_transactional
from tidelog.broker.handlers.when_served import waits_for_transactional_id
from tidelog.broker.requests.context import Context
from tidelog.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse


@waits_for_transactional_id
async def handle(context: Context, request: InitProducerIdRequest) -> InitProducerIdResponse:
    if request.transactional_id is not None:
        return await init_transactional(context, request)
    if (request.producer_id < 0) != (request.producer_epoch < 0):
        return InitProducerIdResponse(error_code=ErrorCode.INVALID_REQUEST, producer_id=-1, producer_epoch=-1)
    try:
        producer_id = await context.services.producer_ids.take()
    except KafkaError as error:  # a new block of ids could not be written down
        return InitProducerIdResponse(error_code=error.code, producer_id=-1, producer_epoch=-1)
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)
