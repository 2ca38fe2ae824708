"""Answers that must not come from a coordinator that was replaced without knowing it."""

from typing import TypeVar

from tidelog.base.errors import ErrorCode
from tidelog.coordination.decision import ShardDecision
from tidelog.transactions.record_format import record_of, tombstone_of
from tidelog.transactions.transaction import Transaction

AnswerT = TypeVar("AnswerT")

NEEDS_CONFIRMATION = {
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.TRANSACTION_ABORTABLE,
}
"""The errors that end a producer's transaction, or the producer."""


def confirmed(
    decision: ShardDecision[AnswerT], transactional_id: str, found: Transaction | None
) -> ShardDecision[AnswerT]:
    """Give the same answer once the present record of the id was written again and is committed.

    A replaced coordinator that does not know it yet answers from an earlier state, which is wrong by now: the
    producer gives up a healthy transaction, or takes an open one for committed. What it writes is never
    committed, so the producer is told to look for the coordinator instead.
    """
    if not decision.records:
        decision.records = (tombstone_of(transactional_id) if found is None else record_of(found),)
        decision.is_confirmation = True
    return decision
