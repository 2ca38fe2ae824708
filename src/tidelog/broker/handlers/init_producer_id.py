"""InitProducerId: an id and epoch for an idempotent producer."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.context import Context
from tidelog.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse


async def handle(context: Context, request: InitProducerIdRequest) -> InitProducerIdResponse:
    if request.transactional_id is not None:
        # An empty id is a mistake; a real one asks for transactions, which nobody coordinates here.
        asked = bool(request.transactional_id)
        code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED if asked else ErrorCode.INVALID_REQUEST
        return InitProducerIdResponse(error_code=code, producer_id=-1, producer_epoch=-1)
    if (request.producer_id < 0) != (request.producer_epoch < 0):
        return InitProducerIdResponse(error_code=ErrorCode.INVALID_REQUEST, producer_id=-1, producer_epoch=-1)
    try:
        producer_id = await context.services.producer_ids.take()
    except KafkaError as error:  # a new block of ids could not be written down
        return InitProducerIdResponse(error_code=error.code, producer_id=-1, producer_epoch=-1)
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)
