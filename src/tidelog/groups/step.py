"""One call into a shard: what time it is, what the call may use, and the records and answers it leads to."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import TimestampMs
from tidelog.base.ports import Random
from tidelog.base.timers import Timers
from tidelog.groups.outcome import OffsetsRecord, Outcome, Pending
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


class Step:
    __slots__ = ("_failed", "_safe", "context", "now", "now_ms", "records")

    def __init__(self, context: Context, now: float, now_ms: TimestampMs) -> None:
        self.context = context
        self.now = now
        self.now_ms = now_ms
        self.records: list[OffsetsRecord] = []
        self._safe: list[Callable[[Step], None]] = []
        self._failed: list[Callable[[Step, ErrorCode], None]] = []

    def after_ms(self, delay_ms: int) -> float:
        """The moment that many milliseconds from now, on the clock of the timers."""
        return self.now + delay_ms / 1000

    def append(
        self,
        record: OffsetsRecord,
        *,
        safe: "Callable[[Step], None] | None" = None,
        failed: "Callable[[Step, ErrorCode], None] | None" = None,
    ) -> None:
        """Have a record written; then exactly one of the two is called."""
        self.records.append(record)
        if safe is not None:
            self._safe.append(safe)
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

    def outcome(self, answer: Pending[AnswerT]) -> Outcome[AnswerT]:
        return Outcome(answer, self.records, self._safe, self._failed)

    def answer(self, answer: AnswerT, refusal: Callable[[ErrorCode], AnswerT]) -> Outcome[AnswerT]:
        """Give `answer` once the records are safe; at once where there are none."""
        if not self.records:
            return Outcome(Pending.ready(answer))
        pending: Pending[AnswerT] = Pending()
        self._safe.append(lambda _: pending.settle(answer))
        self._failed.append(lambda _, error: pending.settle(refusal(error)))
        return self.outcome(pending)
