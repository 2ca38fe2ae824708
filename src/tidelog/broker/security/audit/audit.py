"""The audit record: who was refused, and who changed what. One JSON line per event, to every sink.

Recording never waits and never fails a request: sinks buffer within bounds, and say how many lines they had
to drop.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from tidelog.base.ids import NodeId
from tidelog.base.ports import Clock
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.security.audit.event import OK, Actor, AuditEvent, AuditKind, bounded, line_of
from tidelog.security.audit.repeats import Repeats


class AuditSink(Protocol):
    def write(self, line: bytes) -> None:
        """Take a line. Neither waits nor raises."""
        ...

    @property
    def lost_lines(self) -> int:
        """Lines that were dropped since the start."""
        ...

    async def flush(self) -> None:
        """Bring the lines to where they belong, as far as that is possible now."""
        ...


class Audit:
    interval_seconds = 1.0
    """Equal events within this time are counted."""

    def __init__(
        self, kinds: Iterable[AuditKind], sinks: Sequence[AuditSink], clock: Clock, node_id: NodeId
    ) -> None:
        self._kinds = frozenset(kinds)
        self._sinks = sinks
        self._clock = clock
        self._node_id = node_id
        self._repeats = Repeats()
        self.events = 0
        """Recorded since the start, repeated ones too."""

    @property
    def lost_lines(self) -> int:
        return sum(sink.lost_lines for sink in self._sinks)

    def wants(self, kind: AuditKind) -> bool:
        return kind in self._kinds

    def record(self, event: AuditEvent) -> None:
        if event.kind in self._kinds and self._repeats.is_first(event := bounded(event)):
            self._write(event)

    def denied(
        self, actor: Actor, api: str, operation: Operation, resource_type: ResourceType, name: str
    ) -> None:
        self.record(
            AuditEvent(
                kind=AuditKind.DENIED,
                actor=actor,
                api=api,
                operation=operation.name,
                resource_type=resource_type.name,
                resource=name,
            )
        )

    def authenticated(self, actor: Actor, mechanism: str) -> None:
        self.record(
            AuditEvent(
                kind=AuditKind.AUTHENTICATED, actor=actor, result=OK, details=(("mechanism", mechanism),)
            )
        )

    def authentication_failed(self, actor: Actor, mechanism: str, user: str, reason: str) -> None:
        """`user` is the name that the client gave, where it came that far."""
        details = (("mechanism", mechanism), *((("user", user),) if user else ()))
        self.record(
            AuditEvent(kind=AuditKind.AUTHENTICATION_FAILED, actor=actor, reason=reason, details=details)
        )

    async def end_interval(self) -> None:
        """Write the events that came again and again, with their number, and bring all lines away."""
        for event, count in self._repeats.end_of_interval():
            self._write(event, count)
        for sink in self._sinks:
            await sink.flush()

    async def close(self) -> None:
        await self.end_interval()

    def _write(self, event: AuditEvent, repeated: int = 0) -> None:
        self.events += max(1, repeated)
        line = line_of(event, self._clock.now_ms(), self._node_id, repeated)
        for sink in self._sinks:
            sink.write(line)


class Backlog:
    """Lines on their way, within a bound. Lines beyond it are dropped and counted."""

    def __init__(self, bytes_max: int, line_of_dropped: Callable[[int], bytes]) -> None:
        self._bytes_max = bytes_max
        self._line_of_dropped = line_of_dropped
        self._lines: list[bytes] = []
        self._bytes = 0
        self._dropped = 0
        self.lost_lines = 0

    def __bool__(self) -> bool:
        return bool(self._lines or self._dropped)

    def add(self, line: bytes) -> None:
        if self._bytes + len(line) > self._bytes_max:
            self.lost(1)
        else:
            self._lines.append(line)
            self._bytes += len(line)

    def take(self) -> list[bytes]:
        """All lines, and one that says how many are missing."""
        lines, dropped = self._lines, self._dropped
        self._lines, self._bytes, self._dropped = [], 0, 0
        return [*lines, self._line_of_dropped(dropped)] if dropped else lines

    def lost(self, count: int) -> None:
        """So many lines that were taken cannot be written at all."""
        self._dropped += count
        self.lost_lines += count

    def give_back(self, lines: Iterable[bytes]) -> None:
        """They could not be written: they come first the next time."""
        later, self._lines, self._bytes = self._lines, [], 0
        for line in (*lines, *later):
            self.add(line)
