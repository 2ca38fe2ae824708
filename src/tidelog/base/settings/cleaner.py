"""Cleanup policy and log compaction: the newest record of each key stays, older ones go."""

import sys

from tidelog.base.config.setting import LONG_MAX, Dynamic, Kind, Setting, Unit

SETTINGS = (
    Setting(
        "log.cleanup.policy",
        Kind.LIST,
        ("delete",),
        "What happens to old records. `delete` deletes whole segments by age and size; `compact` keeps the "
        "newest record of each key; the two can be combined. An empty list keeps everything.",
        choices=("compact", "delete"),
        dynamic=Dynamic.CLUSTER_WIDE,
    ),
    Setting(
        "log.cleaner.enable",
        Kind.BOOL,
        True,
        "Compact the topics whose policy includes `compact`. Without it they grow without limit.",
    ),
    Setting(
        "log.cleaner.threads",
        Kind.INT,
        1,
        "The number of partitions that are compacted in parallel.",
        minimum=1,
        maximum=256,
        dynamic=Dynamic.CLUSTER_WIDE,
    ),
    Setting(
        "log.cleaner.dedupe.buffer.size",
        Kind.LONG,
        128 * 1024 * 1024,
        "The memory in which all compactions together keep the newest offset of each key. Keys that do not "
        "fit wait for the next round.",
        minimum=1024 * 1024,
        unit=Unit.BYTES,
        dynamic=Dynamic.CLUSTER_WIDE,
    ),
    Setting(
        "log.cleaner.io.max.bytes.per.second",
        Kind.DOUBLE,
        sys.float_info.max,
        "The maximum rate at which compaction reads and writes, all threads together.",
        minimum=1024,
        unit=Unit.BYTES_PER_SECOND,
        dynamic=Dynamic.CLUSTER_WIDE,
        special="1.7976931348623157E308: no limit",
    ),
    Setting(
        "log.cleaner.backoff.ms",
        Kind.LONG,
        15_000,
        "How long the cleaner sleeps when there is nothing to compact.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        dynamic=Dynamic.CLUSTER_WIDE,
    ),
    Setting(
        "log.cleaner.min.cleanable.ratio",
        Kind.DOUBLE,
        0.5,
        "The minimum ratio of uncompacted to total bytes at which a log is compacted.",
        minimum=0,
        maximum=1,
        dynamic=Dynamic.CLUSTER_WIDE,
    ),
    Setting(
        "log.cleaner.delete.retention.ms",
        Kind.LONG,
        86_400_000,
        "How long compaction keeps a tombstone (a record with a key and no value). A consumer that reads "
        "from the beginning must finish within this time to see every deletion.",
        minimum=0,
        unit=Unit.MILLISECONDS,
        dynamic=Dynamic.CLUSTER_WIDE,
    ),
    Setting(
        "log.cleaner.min.compaction.lag.ms",
        Kind.LONG,
        0,
        "A record younger than this is not compacted.",
        minimum=0,
        unit=Unit.MILLISECONDS,
        dynamic=Dynamic.CLUSTER_WIDE,
    ),
    Setting(
        "log.cleaner.max.compaction.lag.ms",
        Kind.LONG,
        LONG_MAX,
        "A record older than this becomes eligible for compaction whatever the cleanable ratio is.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        dynamic=Dynamic.CLUSTER_WIDE,
        special=f"{LONG_MAX}: no limit",
    ),
)
