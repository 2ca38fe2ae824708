"""Defaults of new topics, and what the broker checks on writes."""

from tidelog.base.config.setting import LONG_MAX, Dynamic, Importance, Kind, Setting, Unit, Value

CODECS = ("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd")


def _check_gzip_level(value: Value) -> str | None:
    return "0 is not a level; use 1 to 9, or -1 for the codec's own default" if value == 0 else None


SETTINGS = (
    Setting(
        "num.partitions",
        Kind.INT,
        1,
        "The number of partitions of a new topic if the request does not set one, and of an auto-created "
        "topic.",
        minimum=1,
    ),
    Setting(
        "default.replication.factor",
        Kind.INT,
        1,
        "The replication factor of a new topic if the request does not set one.",
        minimum=1,
        maximum=32_767,
    ),
    Setting(
        "auto.create.topics.enable",
        Kind.BOOL,
        True,
        "Create a topic when a client that allows it requests metadata of a topic that does not exist.",
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
        "The maximum size of a record batch after compression.",
        minimum=0,
        unit=Unit.BYTES,
        dynamic=Dynamic.CLUSTER_WIDE,
        importance=Importance.HIGH,
    ),
    Setting(
        "min.insync.replicas",
        Kind.INT,
        1,
        "The minimum number of in-sync replicas for a write with acks=all to be accepted.",
        minimum=1,
        dynamic=Dynamic.CLUSTER_WIDE,
        importance=Importance.HIGH,
    ),
    Setting(
        "unclean.leader.election.enable",
        Kind.BOOL,
        False,
        "Allow a replica that is not in sync to become leader when no in-sync replica is left. The "
        "partition becomes available again, and records that only the lost replicas held are gone.",
        dynamic=Dynamic.CLUSTER_WIDE,
        importance=Importance.HIGH,
    ),
    Setting(
        "compression.type",
        Kind.ENUM,
        "producer",
        "The codec of stored batches. `producer` keeps the producer's codec at no cost; with any other "
        "value the broker recompresses each batch that differs.",
        choices=CODECS,
        dynamic=Dynamic.CLUSTER_WIDE,
        importance=Importance.HIGH,
    ),
    Setting(
        "compression.gzip.level",
        Kind.INT,
        -1,
        "The level for gzip when the broker compresses: 1 is the fastest, 9 the smallest.",
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
        "The level for lz4 when the broker compresses: 1 is the fastest, 17 the smallest.",
        minimum=1,
        maximum=17,
        dynamic=Dynamic.CLUSTER_WIDE,
    ),
    Setting(
        "compression.zstd.level",
        Kind.INT,
        3,
        "The level for zstd when the broker compresses: negative levels are the fastest, 22 is the smallest.",
        minimum=-131_072,
        maximum=22,
        dynamic=Dynamic.CLUSTER_WIDE,
    ),
    Setting(
        "log.message.timestamp.type",
        Kind.ENUM,
        "CreateTime",
        "Which clock sets a record's timestamp: the producer's (`CreateTime`) or the broker's "
        "(`LogAppendTime`).",
        choices=("CreateTime", "LogAppendTime"),
        dynamic=Dynamic.CLUSTER_WIDE,
    ),
    Setting(
        "log.message.timestamp.before.max.ms",
        Kind.LONG,
        LONG_MAX,
        "With `CreateTime`, reject a record whose timestamp is further in the past than this.",
        minimum=0,
        unit=Unit.MILLISECONDS,
        dynamic=Dynamic.CLUSTER_WIDE,
        special=f"{LONG_MAX}: no limit",
    ),
    Setting(
        "log.message.timestamp.after.max.ms",
        Kind.LONG,
        3_600_000,
        "With `CreateTime`, reject a record whose timestamp is further in the future than this: it would "
        "keep its segment from being deleted by age.",
        minimum=0,
        unit=Unit.MILLISECONDS,
        dynamic=Dynamic.CLUSTER_WIDE,
        special=f"{LONG_MAX}: no limit",
    ),
    Setting(
        "produce.validation",
        Kind.ENUM,
        "header",
        "How thoroughly the broker validates a batch before it stores it. `header` checks the header and "
        "the CRC of the whole batch and trusts the records inside; `records` also reads every record, "
        "including compressed ones, and rejects a batch whose records do not match its header.",
        choices=("header", "records"),
        dynamic=Dynamic.CLUSTER_WIDE,
        ours=True,
    ),
    Setting(
        "producer.id.expiration.ms",
        Kind.INT,
        86_400_000,
        "How long a partition keeps the state of an idle idempotent producer. A retry after that is not "
        "recognized as a duplicate.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        importance=Importance.LOW,
        dynamic=Dynamic.CLUSTER_WIDE,
    ),
)
