"""What a decision leads to: records to append first, and the answer that holds once they are safe.

The shell appends the records, calls `shard.apply(outcome, ...)` in the same breath, and once they are safe
`shard.release(outcome)`; only then the answer goes out. Where they cannot be written, nothing has happened
and the answer is `outcome.refused(error)`. An answer without records may rest on those before it, so it waits
until they are safe. See `confirmed` for answers that must not come from a coordinator that was replaced.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import NO_EPOCH
from tidelog.transactions.record_format import encode_key, encode_value
from tidelog.transactions.transaction import Transaction

AnswerT = TypeVar("AnswerT")


class TransactionRecord(NamedTuple):
    """A record for `__transaction_state`. No value: a tombstone."""

    key: bytes
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Outcome(Generic[AnswerT]):
    answer: AnswerT
    refused: Callable[[ErrorCode], AnswerT]
    """The answer where the records could not be written, or not in time."""
    records: tuple[TransactionRecord, ...] = ()
    bumped_from: int = NO_EPOCH
    """The epoch that the producer came with and from which it got its new one; a retry brings it again."""
    is_confirmation: bool = False
    """Its records change nothing. That they are safe shows that no other coordinator has decided since."""


def record(transaction: Transaction) -> TransactionRecord:
    return TransactionRecord(encode_key(transaction.id), encode_value(transaction))


def tombstone(transactional_id: str) -> TransactionRecord:
    return TransactionRecord(encode_key(transactional_id), None)


NEEDS_CONFIRMATION = {
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.TRANSACTION_ABORTABLE,
}
"""What ends a producer's transaction, or the producer."""


def confirmed(
    outcome: Outcome[AnswerT], transactional_id: str, found: Transaction | None
) -> Outcome[AnswerT]:
    """The same answer, given once the present record of the id was written again.

    A coordinator that was replaced and has not heard of it knows an earlier state. What it would say of that
    is wrong by now, and a producer that is told so gives up a transaction that is well, or takes one for
    committed that is still open. Its write never becomes safe, and the producer looks for the coordinator.
    """
    if outcome.records:
        return outcome
    present = tombstone(transactional_id) if found is None else record(found)
    return replace(outcome, records=(present,), is_confirmation=True)


TOLD_AFTER_A_FAILED_APPEND = {
    # What producers understand: look for the coordinator again, or try again later.
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


def told(error: ErrorCode) -> ErrorCode:
    return TOLD_AFTER_A_FAILED_APPEND.get(error, error)
