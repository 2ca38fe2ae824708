"""What the interop tests ask of a Kafka client, in words that every client's driver understands.

A driver (drivers/*.py) has only the methods that its client can do; conftest.py offers a test each driver
that has what the test asks for. `takes_many` marks one that writes thousands of records in a call,
`can_leave_counts_out` one that creates topics with the broker's default counts, and `can_write` says which
records its interface lets through. Errors come out as `Refused` with the protocol's error code.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
ACKS = ("0", "1", "all")

# Positions, as the protocol numbers them; any other start is an offset.
LATEST = -1
EARLIEST = -2

# Long enough that only a broker that never answers meets it, on a busy machine too.
PATIENCE_S = 30.0


class Code(IntEnum):
    """Error codes that the tests expect; a plain copy, so that the tests do not lean on what they test."""

    OFFSET_OUT_OF_RANGE = 1
    UNKNOWN_TOPIC_OR_PARTITION = 3
    MESSAGE_TOO_LARGE = 10
    NOT_ENOUGH_REPLICAS = 19
    INVALID_TOPIC_EXCEPTION = 17
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    INVALID_REQUEST = 42
    POLICY_VIOLATION = 44
    UNKNOWN_MEMBER_ID = 25
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    FENCED_INSTANCE_ID = 82
    ELECTION_NOT_NEEDED = 84
    NO_REASSIGNMENT_IN_PROGRESS = 85
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    INVALID_RECORD = 87


class Refused(Exception):
    """The broker said no, with this error code."""

    def __init__(self, code: int, message: object = "") -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Unfinished(Exception):
    """The client did not finish in time; `got` is what came until then."""

    def __init__(self, what: str, got: Sequence[object] = ()) -> None:
        super().__init__(f"{what} (got {len(got)})")
        self.got = got


class Record(NamedTuple):
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int | None = None
    partition: int = 0
    offset: int = -1
    append_time: bool = False

    @property
    def content(self) -> tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]:
        return self.key, self.value, self.headers


def contents(records: Iterable[Record]) -> list[object]:
    return [record.content for record in records]


class ConfigEntry(NamedTuple):
    value: str | None
    is_default: bool
    read_only: bool = False
    sensitive: bool = False
    synonyms: tuple[tuple[str, str | None], ...] = ()


class PartitionInfo(NamedTuple):
    leader: int
    replicas: list[int]
    isr: list[int]


class ClusterInfo(NamedTuple):
    cluster_id: str | None
    controller: int | None
    brokers: dict[int, str]


Place = tuple[str, int]
"""A topic and one of its partitions."""


class MemberInfo(NamedTuple):
    client_id: str
    host: str
    instance_id: str | None
    partitions: set[Place]


class GroupInfo(NamedTuple):
    state: str
    assignor: str
    members: list[MemberInfo]


class ConfigChange(NamedTuple):
    """One step of an incremental change: op is set, delete, append or subtract."""

    op: str
    name: str
    value: str | None = None
