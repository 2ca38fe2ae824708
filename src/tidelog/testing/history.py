"""What clients did and saw, one operation a line: the material of `checkers.py`.

The simulator writes it and so can any test with real processes. Values are unique over the whole history, so
that a value that is read names the write it came from.
"""

from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path

import msgspec

Partition = str
"""`topic-index`."""


class Completion(Enum):
    OK = "ok"
    FAIL = "fail"  # it certainly did not happen
    INFO = "info"  # unclear


class Sent(msgspec.Struct, omit_defaults=True, array_like=True):
    partition: Partition
    value: str
    offset: int | None = None
    """As acknowledged; None where no answer came or acks was 0."""
    due_ms: int = 0
    """Share groups may have it from this time on."""


class Read(msgspec.Struct, omit_defaults=True, array_like=True):
    partition: Partition
    offset: int
    value: str


class Operation(msgspec.Struct, omit_defaults=True):
    process: str
    """Who did it. A client that was started anew is another process."""
    kind: str
    """send, poll, txn (sends and polls as one), assign, subscribe, crash, final (polled to the very end)."""
    outcome: Completion = Completion.OK
    started: float = 0.0
    ended: float = 0.0
    sent: list[Sent] = []
    """In the order in which they were sent."""
    read: list[Read] = []
    """In the order in which they were read."""
    acks: int = -1
    """Of its sends: only those with -1 (all) are promised to stay."""
    idempotent: bool = True
    """False: retries of these sends may write a value twice."""
    committed_only: bool = False
    """Its reads were at read_committed."""
    error: str = ""


class History:
    def __init__(self, operations: Iterable[Operation] = ()) -> None:
        self.operations = list(operations)

    def __iter__(self) -> Iterator[Operation]:
        return iter(self.operations)

    def __len__(self) -> int:
        return len(self.operations)

    def add(self, operation: Operation) -> Operation:
        self.operations.append(operation)
        return operation

    def read_by(self, process: str) -> list[Read]:
        return [read for one in self.operations if one.process == process for read in one.read]

    def to_lines(self) -> bytes:
        encoder = msgspec.json.Encoder()
        return b"".join(encoder.encode(operation) + b"\n" for operation in self.operations)

    @classmethod
    def from_lines(cls, lines: bytes) -> "History":
        decoder = msgspec.json.Decoder(Operation)
        return cls(decoder.decode(line) for line in lines.splitlines() if line)

    def save(self, path: Path) -> None:
        path.write_bytes(self.to_lines())

    @classmethod
    def load(cls, path: Path) -> "History":
        return cls.from_lines(path.read_bytes())
