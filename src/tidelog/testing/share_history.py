"""What members of share groups did and saw, and the state at the end: the input of `share_checkers.py`.

One event a line, as in `history.py`, which has the sends. The simulator writes it, and so can a test with
real processes. Times are seconds of a clock that all clients share.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from tidelog.testing.history import Completion, Partition

UNKNOWN_EPOCH = -1
NOT_HELD = 0
"""The delivery count of a record that a member acknowledges without having it."""


class ShareGroupPlan(msgspec.Struct, omit_defaults=True, tag="group"):
    """The settings of a group that its members rely on."""

    group: str
    delivery_limit: int
    lock_ms: int
    locks_max: int
    committed_only: bool = False
    backoff_ms: int = 0
    backoff_max_ms: int = 0
    dead_letter_topic: str = ""
    dead_letter_partitions: int = 0


class Taken(msgspec.Struct, omit_defaults=True, array_like=True):
    partition: Partition
    offset: int
    value: str
    count: int
    epoch: int = UNKNOWN_EPOCH
    """The leader epoch in which the record was acquired."""


class Take(msgspec.Struct, omit_defaults=True, tag="take"):
    """A ShareFetch. Its member's locks end with the connection."""

    group: str
    member: str
    connection: str
    started: float
    ended: float = 0.0
    outcome: Completion = Completion.INFO
    """INFO: no answer came, so records may be locked without the member's knowledge."""
    broker: str = ""
    """The process that answered."""
    clock_ms: int = 0
    """The latest time that a broker's wall clock may have shown when it answered."""
    records: list[Taken] = []


class Ack(msgspec.Struct, omit_defaults=True, array_like=True):
    partition: Partition
    offset: int
    type: int
    """An `AckType`."""
    count: int
    """The member's last delivery of the record, NOT_HELD if there was none."""
    outcome: Completion = Completion.INFO
    delay_ms: int = -1
    epoch: int = UNKNOWN_EPOCH
    error: str = ""


class Acknowledge(msgspec.Struct, omit_defaults=True, tag="acknowledge"):
    """A ShareAcknowledge, or the acknowledgements of a ShareFetch."""

    group: str
    member: str
    connection: str
    started: float
    ended: float = 0.0
    broker: str = ""
    clock_ms: int = 0
    """The earliest time that a broker's wall clock may have shown when the request arrived."""
    acks: list[Ack] = []


class LogStart(msgspec.Struct, tag="log_start"):
    """Records below `offset` are deleted."""

    partition: Partition
    offset: int
    at: float


class GroupEnd(msgspec.Struct, tag="group_end"):
    """At the end of a run: where a group stands in a partition, and up to where it may read."""

    group: str
    partition: Partition
    start_offset: int
    end_offset: int


class Stored(msgspec.Struct, tag="stored"):
    """A record of a dead-letter topic at the end of a run."""

    partition: Partition
    offset: int
    value: str
    headers: list[tuple[str, str]]


ShareEvent = ShareGroupPlan | Take | Acknowledge | LogStart | GroupEnd | Stored
AnyShareEvent = TypeVar("AnyShareEvent", bound=ShareEvent)


class ShareHistory:
    def __init__(self, events: Iterable[ShareEvent] = ()) -> None:
        self.events = list(events)

    def __iter__(self) -> Iterator[ShareEvent]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def add(self, event: AnyShareEvent) -> AnyShareEvent:
        self.events.append(event)
        return event

    def finished(self, event: ShareEvent) -> None:
        """The event has all that it will ever have: a history on disk writes it now."""

    def to_lines(self) -> bytes:
        encoder = msgspec.json.Encoder()
        return b"".join(encoder.encode(event) + b"\n" for event in self.events)

    @classmethod
    def from_lines(cls, lines: bytes) -> "ShareHistory":
        decoder = msgspec.json.Decoder(ShareEvent)
        return cls(decoder.decode(line) for line in lines.splitlines() if line)

    def save(self, path: Path) -> None:
        path.write_bytes(self.to_lines())

    @classmethod
    def load(cls, path: Path) -> "ShareHistory":
        return cls.from_lines(path.read_bytes())
