"""Equal events that come again and again: the first makes a line at once, the others are counted.

A client that is refused ten thousand times a second must neither fill the disk nor hide other events.
"""

from collections.abc import Iterator

from tidelog.security.audit.event import AuditEvent, AuditKind

KEPT_MAX = 10_000
"""Different events that are counted at once; beyond that every event makes a line."""


class Repeats:
    def __init__(self) -> None:
        self._counts: dict[AuditEvent, int] = {}

    def is_first(self, event: AuditEvent) -> bool:
        """Whether the event makes a line now. Changes always do: each of them counts."""
        if event.kind is AuditKind.CHANGED:
            return True
        count = self._counts.get(event)
        if count is None:
            if len(self._counts) < KEPT_MAX:
                self._counts[event] = 0
            return True
        self._counts[event] = count + 1
        return False

    def end_of_interval(self) -> Iterator[tuple[AuditEvent, int]]:
        """Events that came again since their line, and how often. Silent ones are forgotten."""
        counts, self._counts = self._counts, {}
        for event, count in counts.items():
            if count:
                self._counts[event] = 0
                yield event, count
