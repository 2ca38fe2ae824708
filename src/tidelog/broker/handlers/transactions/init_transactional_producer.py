"""InitProducerId for a transactional id: an epoch that fences the producers that used the id before."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.handlers.transactions.permissions import (
    check_transactional_id,
    check_two_phase_commit,
)
from tidelog.broker.requests.context import Context
from tidelog.transactions.messages import InitAnswer, InitRequest
from tidelog.transactions.transaction import Identity
from tidelog.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

KNOWS_FENCED_FROM = 4


async def init_transactional(context: Context, request: InitProducerIdRequest) -> InitProducerIdResponse:
    wanted = InitRequest(
        request.transactional_id or "",
        request.transaction_timeout_ms,
        Identity(request.producer_id, request.producer_epoch),
        request.enable2_pc,
        request.keep_prepared_txn,
    )
    try:
        check_transactional_id(context, wanted.transactional_id)
        if request.enable2_pc:
            check_two_phase_commit(context, wanted.transactional_id)
        if not wanted.transactional_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        served = context.services.transactions.of(wanted.transactional_id)
        answer: InitAnswer = await served.run_next(
            wanted.transactional_id, lambda spare: served.shard.init(wanted, served.now_ms, spare)
        )
    except KafkaError as error:
        return refused(error.code)
    if answer.error is ErrorCode.PRODUCER_FENCED and context.version < KNOWS_FENCED_FROM:
        return refused(ErrorCode.INVALID_PRODUCER_EPOCH)
    return InitProducerIdResponse(
        error_code=answer.error,
        producer_id=answer.producer.producer_id,
        producer_epoch=answer.producer.epoch,
        ongoing_txn_producer_id=answer.ongoing.producer_id,
        ongoing_txn_producer_epoch=answer.ongoing.epoch,
    )


def refused(code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_id=-1, producer_epoch=-1)
