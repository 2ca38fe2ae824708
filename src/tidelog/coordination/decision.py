"""What a shard decides on a request or a timer: records to append, and an answer for the client.

The runtime appends the records as one batch, calls `shard.apply(decision, ...)` before anything else runs,
and calls `release` once the records are committed. If they cannot be appended, or are not committed in time,
it calls `fail`. The client gets its answer from exactly one of the two.
"""

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import ProducerId, TimestampMs
from tidelog.base.pending import Pending

AnswerT = TypeVar("AnswerT")

OnCommitted = Callable[[float, TimestampMs], None]
OnFailed = Callable[[ErrorCode, float, TimestampMs], None]


class StateRecord(NamedTuple):
    """A record of a coordinator's log. A tombstone has no value."""

    key: bytes
    value: bytes | None


class TransactionWriter(NamedTuple):
    """The transactional producer in whose name records are written."""

    producer_id: ProducerId
    epoch: int


class ShardDecision(Generic[AnswerT]):
    __slots__ = (
        "_committed",
        "_failed",
        "_if_committed",
        "_refused",
        "answer",
        "effect",
        "is_confirmation",
        "on_applied",
        "records",
        "writer",
    )

    def __init__(
        self,
        answer: Pending[AnswerT],
        records: Sequence[StateRecord] = (),
        committed: OnCommitted | None = None,
        failed: OnFailed | None = None,
    ) -> None:
        """The shard resolves `answer` itself: in `committed` or `failed`, or in a later decision."""
        self.answer = answer
        self.records = records
        self.writer: TransactionWriter | None = None
        """Set where the records are part of a transaction. They get a batch of their own."""
        self.is_confirmation = False
        """The records repeat the present state. Once they are committed, no other coordinator has decided
        since, so the answer is not out of date."""
        self.on_applied: Callable[[], None] | None = None
        """For state that is not in the records and lives only as long as the shard; `apply` calls it."""
        self.effect: Callable[[], None] | None = None
        """Called once the records are committed, even if the client was told to try again before that."""
        self._if_committed: AnswerT | None = None
        self._refused: Callable[[ErrorCode], AnswerT] | None = None
        self._committed = committed
        self._failed = failed

    @classmethod
    def of(
        cls,
        answer: AnswerT,
        refused: Callable[[ErrorCode], AnswerT],
        records: Sequence[StateRecord] = (),
        committed: OnCommitted | None = None,
        failed: OnFailed | None = None,
    ) -> "ShardDecision[AnswerT]":
        """Give `answer` once the records are committed, or `refused(error)` if they are not."""
        decision = cls(Pending(), records, committed, failed)
        decision._if_committed = answer
        decision._refused = refused
        return decision

    @property
    def has_answer(self) -> bool:
        """Whether `release` or `fail` gives the answer."""
        return self._refused is not None

    @property
    def if_committed(self) -> AnswerT:
        """The answer that `release` gives; only of a decision that was made by `of`."""
        return self._if_committed  # type: ignore[return-value]

    def release(self, now: float, now_ms: TimestampMs) -> None:
        """The records are committed: give the answer and run the effects that waited for that."""
        effect, committed, has_answer = self.effect, self._committed, self.has_answer
        self._forget()
        self.effect = None
        if effect is not None:
            effect()
        if committed is not None:
            committed(now, now_ms)
        if has_answer:
            self.answer.resolve(self.if_committed)

    def fail(self, error: ErrorCode, now: float, now_ms: TimestampMs) -> None:
        """The records were not appended, or not committed in time; `error` is for the client."""
        failed, refused = self._failed, self._refused
        self._forget()
        if failed is not None:
            failed(error, now, now_ms)
        if refused is not None:
            self.answer.resolve(refused(error))

    def _forget(self) -> None:
        """The answer is given once, also where records that were late are committed after all."""
        self._committed = self._failed = self._refused = None
