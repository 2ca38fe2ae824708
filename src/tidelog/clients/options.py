"""The words that configurations are written in. Their values are what librdkafka reads."""

from enum import Enum


class AckMode(Enum):
    """Which acknowledgement a producer waits for. A configuration also takes the text: `acks="all"`.

    Attributes:
        NONE: None. A record that is lost on the way is lost silently, and receipts carry no offset.
        LEADER: That of the partition's leader. A record can be lost if the leader dies before a follower has
            copied it.
        ALL: That of every in-sync replica. An acknowledged record survives as long as one of them does.
    """

    NONE = "0"
    LEADER = "1"
    ALL = "all"


class OffsetResetPolicy(Enum):
    """Where a consumer begins if it has no committed offset, or if that offset is no longer in the log.

    Attributes:
        EARLIEST: At the oldest message that the partition still holds.
        LATEST: Behind the newest one, so that only messages from now on are read.
        NONE: Nowhere: `poll` raises `OffsetOutOfRange`, and the application decides with `seek`.
    """

    EARLIEST = "earliest"
    LATEST = "latest"
    NONE = "error"


class CompressionType(Enum):
    """How a producer compresses its batches. A configuration also takes the text: `compression_type="zstd"`.

    Attributes:
        NONE: Not at all.
        GZIP: Small output at a high cost in CPU; for consumers that know nothing newer.
        SNAPPY: Little CPU, moderate output.
        LZ4: Little CPU, moderate output, the fastest to decompress.
        ZSTD: The smallest output for its cost; the usual choice today.
    """

    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


class IsolationLevel(Enum):
    """Whether a consumer sees records of transactions that are still open or were aborted.

    Attributes:
        READ_UNCOMMITTED: It sees everything, as soon as it is written.
        READ_COMMITTED: It sees committed records only, and waits behind the first open transaction.
    """

    READ_UNCOMMITTED = "read_uncommitted"
    READ_COMMITTED = "read_committed"


class GroupProtocol(Enum):
    """How a consumer group assigns partitions to its members.

    Attributes:
        CLASSIC: One member computes the assignment for all, and every change stops the group for a moment.
        CONSUMER: The broker assigns, and only the partitions that move are stopped (KIP-848).
    """

    CLASSIC = "classic"
    CONSUMER = "consumer"


class AssignmentStrategy(Enum):
    """Which member of a classic group gets which partitions.

    Attributes:
        RANGE: Neighbouring partitions of each topic, so that equal numbers of two topics meet in one member.
        ROUND_ROBIN: Partitions of all topics in turn.
        COOPERATIVE_STICKY: As before, as far as possible. Only partitions that move are taken away.
    """

    RANGE = "range"
    ROUND_ROBIN = "roundrobin"
    COOPERATIVE_STICKY = "cooperative-sticky"


class Partitioner(Enum):
    """How the key of a record chooses its partition.

    Attributes:
        MURMUR2_RANDOM: As the Java client does, so that both put a key into the same partition. Records
            without a key are spread.
        CONSISTENT_RANDOM: librdkafka's own default, by CRC32.
        FNV1A_RANDOM: By FNV-1a, as Sarama does.
        RANDOM: The key plays no part.
    """

    MURMUR2_RANDOM = "murmur2_random"
    CONSISTENT_RANDOM = "consistent_random"
    FNV1A_RANDOM = "fnv1a_random"
    RANDOM = "random"
