"""What the runtime asks of a coordinator: all state of one partition of its topic, and no I/O.

Decide, append, apply. A request method of the shard (each coordinator has its own) looks at the state and
returns a `ShardDecision`. It changes no state that must survive: only `apply` and `replay` do, from records.
No other method may run between a decision with records and its `apply`.
"""

from collections.abc import Iterable
from typing import Any, Protocol

from tidelog.base.ids import TimestampMs
from tidelog.coordination.decision import ShardDecision


class Shard(Protocol):
    """Times come in pairs: `now` in seconds of the monotonic clock, `now_ms` of the wall clock."""

    def replay(self, key: bytes, value: bytes | None) -> None:
        """Apply one record of the log while the shard is loaded. No value: a tombstone."""
        ...

    def on_loaded(self, now: float, now_ms: TimestampMs) -> Iterable[ShardDecision[None]]:
        """The whole log was replayed: start timers. Returns what has to be written first."""
        ...

    def apply(self, decision: ShardDecision[Any], now: float, now_ms: TimestampMs) -> None:
        """The records of the decision were appended: change the state as `replay` would."""
        ...

    @property
    def next_deadline(self) -> float | None:
        """When `tick` has to run next, on the monotonic clock."""
        ...

    def tick(self, now: float, now_ms: TimestampMs) -> ShardDecision[None] | None:
        """Returns the next decision whose time has come. The runtime writes it before it calls again."""
        ...

    def take_notes(self) -> Iterable[str]:
        """Returns lines for the broker's log since the last call."""
        ...

    def unload(self) -> None:
        """This broker no longer leads the partition: answer waiting clients and stop. The last call."""
        ...
