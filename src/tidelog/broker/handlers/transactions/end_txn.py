"""EndTxn: commit or abort. Answered when the decision is committed; its markers are written after that."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.handlers.transactions.permissions import check_transactional_id
from tidelog.broker.requests.context import Context
from tidelog.transactions.messages import EndAnswer, EndRequest
from tidelog.transactions.transaction import EPOCH_BUMPS, Identity
from tidelog.wire.messages.end_txn import EndTxnRequest, EndTxnResponse

FIRST_WITH_EPOCH_BUMPS = 5
KNOWS_FENCED_FROM = 2


async def handle(context: Context, request: EndTxnRequest) -> EndTxnResponse:
    wanted = EndRequest(
        request.transactional_id,
        Identity(request.producer_id, request.producer_epoch),
        request.committed,
        EPOCH_BUMPS if context.version >= FIRST_WITH_EPOCH_BUMPS else 0,
    )
    try:
        check_transactional_id(context, wanted.transactional_id)
        if not wanted.transactional_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        served = context.services.transactions.of(wanted.transactional_id)
        answer: EndAnswer = await served.run_next(
            wanted.transactional_id, lambda spare: served.shard.end(wanted, served.now_ms, spare)
        )
    except KafkaError as refusal:
        answer = EndAnswer(refusal.code)
    error = answer.error
    if error is ErrorCode.PRODUCER_FENCED and context.version < KNOWS_FENCED_FROM:
        error = ErrorCode.INVALID_PRODUCER_EPOCH
    return EndTxnResponse(
        error_code=error, producer_id=answer.producer.producer_id, producer_epoch=answer.producer.epoch
    )
