"""Equal events that come again and again: the first makes a line at once, the others are counted.

A client that is refused ten thousand times a second must neither fill the disk nor hide other events, also
if it asks for something else every time.
"""

from collections.abc import Iterator

from tidelog.security.audit.event import OK, Actor, AuditEvent, AuditKind

KEPT_MAX = 10_000
"""Different events that are counted at once; beyond that every event makes a line."""

REFUSALS_MAX = 1_000
"""Lines about refusals of one client in one interval; further ones are counted together."""

_REFUSALS = frozenset({AuditKind.DENIED, AuditKind.AUTHENTICATION_FAILED, AuditKind.CHANGED})


class Repeats:
    def __init__(self) -> None:
        self._counts: dict[AuditEvent, int] = {}
        self._refusals: dict[tuple[str, str], int] = {}  # lines about each client in this interval

    def is_first(self, event: AuditEvent) -> bool:
        """Whether the event makes a line now. Changes that succeed always do: each of them counts."""
        if event.kind is AuditKind.CHANGED and event.result == OK:
            return True
        count = self._counts.get(event)
        if count is None:
            if event.kind in _REFUSALS and not self._may_have_a_line(event.actor):
                rest = _rest_of(event)
                self._counts[rest] = self._counts.get(rest, 0) + 1
                return False
            if len(self._counts) < KEPT_MAX:
                self._counts[event] = 0
            return True
        self._counts[event] = count + 1
        return False

    def end_of_interval(self) -> Iterator[tuple[AuditEvent, int]]:
        """Events that came again since their line, and how often. Silent ones are forgotten."""
        counts, self._counts, self._refusals = self._counts, {}, {}
        for event, count in counts.items():
            if count:
                self._counts[event] = 0
                yield event, count

    def _may_have_a_line(self, actor: Actor) -> bool:
        client = actor.principal, actor.host
        lines = self._refusals.get(client, 0)
        if lines < REFUSALS_MAX and (lines or len(self._refusals) < KEPT_MAX):
            self._refusals[client] = lines + 1
        return lines < REFUSALS_MAX


def _rest_of(event: AuditEvent) -> AuditEvent:
    actor = event.actor
    return AuditEvent(
        kind=event.kind,
        actor=Actor(actor.principal, actor.host, actor.listener),
        reason="further events of this client, of which there are too many for a line each",
    )
