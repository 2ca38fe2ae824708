"""What a call into a shard leads to: records to append first, and an answer that may come later.

The shell appends the records, calls `shard.apply(outcome)` in the same breath, and once the records are safe
`shard.release(outcome, ...)`; or `shard.fail(outcome, ...)` when they could not be written. Without records
there is nothing to do but wait for the answer.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import ProducerId
from tidelog.base.pending import Pending

if TYPE_CHECKING:
    from tidelog.groups.step import Step

__all__ = ["OffsetsRecord", "Outcome", "Pending", "Writer", "told_after_failure"]

AnswerT = TypeVar("AnswerT")


class OffsetsRecord(NamedTuple):
    """A record for `__consumer_offsets`. No value: a tombstone."""

    key: bytes
    value: bytes | None


class Writer(NamedTuple):
    """The transactional producer in whose name records are written."""

    producer_id: ProducerId
    epoch: int


class Outcome(Generic[AnswerT]):
    __slots__ = ("_failed", "_safe", "answer", "records", "writer")

    def __init__(
        self,
        answer: Pending[AnswerT],
        records: Sequence[OffsetsRecord] = (),
        safe: Sequence[Callable[["Step"], None]] = (),
        failed: Sequence[Callable[["Step", ErrorCode], None]] = (),
    ) -> None:
        self.answer = answer
        self.records = records
        self.writer: Writer | None = None
        """Set where the records are part of a transaction: then they are a batch of their own."""
        self._safe = safe
        self._failed = failed

    def release(self, step: "Step") -> None:
        """The records are safe: give out what waited for that."""
        for action in self._safe:
            action(step)
        self._safe = self._failed = ()

    def fail(self, step: "Step", error: ErrorCode) -> None:
        """The records could not be written: nothing of them holds, and those who waited are told."""
        told = told_after_failure(error)
        for action in self._failed:
            action(step, told)
        self._safe = self._failed = ()


ANSWER_TO_A_FAILED_APPEND = {
    # What clients of groups understand: look for the coordinator again, or try again later.
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


def told_after_failure(error: ErrorCode) -> ErrorCode:
    return ANSWER_TO_A_FAILED_APPEND.get(error, error)
