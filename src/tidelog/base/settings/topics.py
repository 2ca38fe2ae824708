"""How topics come to be and what the broker checks when records are written to them."""

from tidelog.base.config.setting import LONG_MAX, Dynamic, Importance, Kind, Setting, Unit, Value

CODECS = ("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd")


def _check_gzip_level(value: Value) -> str | None:
    return "0 is not a level; use 1 to 9, or -1 for the codec's own default" if value == 0 else None


SETTINGS = (
    Setting(
        "num.partitions",
        Kind.INT,
        1,
        "Partitions of a new topic whose creator names no number, and of one that is created on first use.",
        minimum=1,
    ),
    Setting(
        "default.replication.factor",
        Kind.INT,
        1,
        "Copies of each partition of a new topic whose creator names no number.",
        minimum=1,
        maximum=32_767,
    ),
    Setting(
        "auto.create.topics.enable",
        Kind.BOOL,
        True,
        "Create a topic when a client that allows it asks for metadata of one that does not exist.",
        importance=Importance.HIGH,
    ),
    Setting(
        "delete.topic.enable",
        Kind.BOOL,
        True,
        "Allow topics to be deleted.",
        importance=Importance.HIGH,
    ),
    Setting(
        "message.max.bytes",
        Kind.INT,
        1_048_588,
        "The largest record batch, as it is sent: after compression.",
        minimum=0,
        unit=Unit.BYTES,
        dynamic=Dynamic.CLUSTER_WIDE,
        importance=Importance.HIGH,
    ),
    Setting(
        "min.insync.replicas",
        Kind.INT,
        1,
        "How many replicas must be in sync for a write with acks=all to be accepted.",
        minimum=1,
        dynamic=Dynamic.CLUSTER_WIDE,
        importance=Importance.HIGH,
    ),
    Setting(
        "unclean.leader.election.enable",
        Kind.BOOL,
        False,
        "Let a replica that is not in sync lead when no other is left: the partition is available again, "
        "and records that only the lost replicas held are gone.",
        dynamic=Dynamic.CLUSTER_WIDE,
        importance=Importance.HIGH,
    ),
    Setting(
        "compression.type",
        Kind.ENUM,
        "producer",
        "How batches are stored. `producer` keeps what the producer chose, and costs nothing; with any "
        "other value the broker compresses again each batch that differs.",
        choices=CODECS,
        dynamic=Dynamic.CLUSTER_WIDE,
        importance=Importance.HIGH,
    ),
    Setting(
        "compression.gzip.level",
        Kind.INT,
        -1,
        "The level where the broker compresses with gzip: 1 is fast, 9 is small.",
        minimum=-1,
        maximum=9,
        dynamic=Dynamic.CLUSTER_WIDE,
        special="-1: the codec's default",
        check=_check_gzip_level,
    ),
    Setting(
        "compression.lz4.level",
        Kind.INT,
        9,
        "The level where the broker compresses with lz4: 1 is fast, 17 is small.",
        minimum=1,
        maximum=17,
        dynamic=Dynamic.CLUSTER_WIDE,
    ),
    Setting(
        "compression.zstd.level",
        Kind.INT,
        3,
        "The level where the broker compresses with zstd: 22 is the smallest, negative levels are the "
        "fastest.",
        minimum=-131_072,
        maximum=22,
        dynamic=Dynamic.CLUSTER_WIDE,
    ),
    Setting(
        "log.message.timestamp.type",
        Kind.ENUM,
        "CreateTime",
        "Whose clock stamps a record: the producer's (`CreateTime`) or the broker's (`LogAppendTime`).",
        choices=("CreateTime", "LogAppendTime"),
        dynamic=Dynamic.CLUSTER_WIDE,
    ),
    Setting(
        "log.message.timestamp.before.max.ms",
        Kind.LONG,
        LONG_MAX,
        "With `CreateTime`, refuse a record whose timestamp lies further in the past than this.",
        minimum=0,
        unit=Unit.MILLISECONDS,
        dynamic=Dynamic.CLUSTER_WIDE,
        special=f"{LONG_MAX}: no limit",
    ),
    Setting(
        "log.message.timestamp.after.max.ms",
        Kind.LONG,
        3_600_000,
        "With `CreateTime`, refuse a record whose timestamp lies further in the future than this: such a "
        "record would keep its segment from being deleted by age.",
        minimum=0,
        unit=Unit.MILLISECONDS,
        dynamic=Dynamic.CLUSTER_WIDE,
        special=f"{LONG_MAX}: no limit",
    ),
    Setting(
        "produce.validation",
        Kind.ENUM,
        "header",
        "How deep the broker looks into a batch before it stores it. `header` checks the header and the "
        "CRC of the whole batch and trusts its inside; `records` also walks every record, compressed "
        "ones too, and refuses a batch whose records do not fit its header.",
        choices=("header", "records"),
        dynamic=Dynamic.CLUSTER_WIDE,
        ours=True,
    ),
    Setting(
        "producer.id.expiration.ms",
        Kind.INT,
        86_400_000,
        "How long a partition remembers an idempotent producer that writes no more. A retry that comes "
        "later is not recognised as a duplicate.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        importance=Importance.LOW,
        dynamic=Dynamic.CLUSTER_WIDE,
    ),
)
