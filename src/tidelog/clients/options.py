"""The words that configurations are written in. Their values are what librdkafka reads."""

from enum import Enum


class AckMode(Enum):
    NONE = "0"
    """Nobody confirms; a lost record is lost silently."""
    LEADER = "1"
    """The leader has it."""
    ALL = "all"
    """Every in-sync replica has it."""


class OffsetResetPolicy(Enum):
    """Where to begin when there is no committed offset, or when it is gone."""

    EARLIEST = "earliest"
    LATEST = "latest"
    NONE = "error"
    """Raise `OffsetOutOfRange`."""


class CompressionType(Enum):
    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


class IsolationLevel(Enum):
    READ_UNCOMMITTED = "read_uncommitted"
    READ_COMMITTED = "read_committed"


class GroupProtocol(Enum):
    CLASSIC = "classic"
    CONSUMER = "consumer"
    """The broker assigns the partitions, step by step (KIP-848)."""


class AssignmentStrategy(Enum):
    """Who gets which partition in a group of the classic protocol."""

    RANGE = "range"
    ROUND_ROBIN = "roundrobin"
    COOPERATIVE_STICKY = "cooperative-sticky"
    """Moves as little as possible, and takes only what moves."""


class Partitioner(Enum):
    """How a key chooses its partition."""

    MURMUR2_RANDOM = "murmur2_random"
    """As the Java client does; records without a key are spread."""
    CONSISTENT_RANDOM = "consistent_random"
    """librdkafka's own, by CRC32."""
    FNV1A_RANDOM = "fnv1a_random"
    RANDOM = "random"
