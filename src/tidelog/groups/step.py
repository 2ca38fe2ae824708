"""One call into a shard: its time, what the call may use, and the records and answer it leads to."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import TimestampMs
from tidelog.base.invariant import invariant
from tidelog.base.pending import Pending
from tidelog.base.ports import Random
from tidelog.base.timers import Timers
from tidelog.coordination.decision import ShardDecision, StateRecord
from tidelog.groups.counters import GroupCounters
from tidelog.groups.settings import GroupSettings

AnswerT = TypeVar("AnswerT")

NOTES_MAX = 1000


@dataclass(slots=True)
class Context:
    """What all groups of a shard share."""

    settings: GroupSettings
    random: Random
    forget: Callable[[str], None]
    """Drops the group of this id from memory where nothing is left that would need it."""
    timers: "Timers[Step]" = field(default_factory=Timers)
    notes: deque[str] = field(default_factory=lambda: deque(maxlen=NOTES_MAX))
    """Lines for the broker's log, oldest first; the shell takes them."""
    counters: GroupCounters = field(default_factory=GroupCounters)


class Step:
    __slots__ = ("_committed", "_failed", "context", "now", "now_ms", "records")

    def __init__(self, context: Context, now: float, now_ms: TimestampMs) -> None:
        self.context = context
        self.now = now
        self.now_ms = now_ms
        self.records: list[StateRecord] = []
        self._committed: list[Callable[[Step], None]] = []
        self._failed: list[Callable[[Step, ErrorCode], None]] = []

    def after_ms(self, delay_ms: int) -> float:
        """The moment that many milliseconds from now, on the clock of the timers."""
        return self.now + delay_ms / 1000

    def append(
        self,
        record: StateRecord,
        *,
        committed: "Callable[[Step], None] | None" = None,
        failed: "Callable[[Step, ErrorCode], None] | None" = None,
    ) -> None:
        """Have a record written; then exactly one of the two is called."""
        self.records.append(record)
        if committed is not None:
            self._committed.append(committed)
        if failed is not None:
            self._failed.append(failed)

    def if_failed(self, action: "Callable[[Step, ErrorCode], None]") -> None:
        """Call this where the records of the step cannot be written."""
        self._failed.append(action)

    def forget(self, group_id: str) -> None:
        """Drop a group from memory if nothing needs it, unless this step stores something about it."""
        if not self.records:
            self.context.forget(group_id)

    def note(self, line: str) -> None:
        self.context.notes.append(line)

    def decision(self, answer: Pending[AnswerT]) -> ShardDecision[AnswerT]:
        """The group resolves `answer`, in this step or in a later one."""
        if not self.records:
            return ShardDecision(answer)
        return ShardDecision(answer, self.records, self._on_committed, self._on_failed)

    def answer(self, answer: AnswerT, refused: Callable[[ErrorCode], AnswerT]) -> ShardDecision[AnswerT]:
        """Give `answer` once the records are committed, or `refused(error)` if they are not."""
        if not self.records:
            return ShardDecision.of(answer, refused)
        committed = self._on_committed if self._committed else None
        failed = self._on_failed if self._failed else None
        return ShardDecision.of(answer, refused, self.records, committed, failed)

    def _on_committed(self, now: float, now_ms: TimestampMs) -> None:
        step = Step(self.context, now, now_ms)
        for action in self._committed:
            action(step)
        invariant(not step.records, "a committed decision leads to further records")

    def _on_failed(self, error: ErrorCode, now: float, now_ms: TimestampMs) -> None:
        step = Step(self.context, now, now_ms)
        for action in self._failed:
            action(step, error)
        invariant(not step.records, "a failed decision leads to further records")
