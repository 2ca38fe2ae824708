"""Groups, at their coordinator."""

from tidelog.metrics.family import counter, gauge

_LAG = "kafka.consumer:type=consumer-fetch-manager-metrics (records-lag), or a lag exporter"

GROUPS = gauge(
    "tidelog_groups",
    "Groups that this broker coordinates, by type (classic, consumer, streams, share) and state.",
    "type",
    "state",
    kafka="kafka.server:type=group-coordinator-metrics,name=group-count",
)
MEMBERS = gauge("tidelog_group_members", "Members of a group.", "group")
TOTAL_LAG_RECORDS = gauge(
    "tidelog_group_total_lag_records", "Lag of a group in records, over all partitions.", "group", kafka=_LAG
)
LAG_SECONDS_MAX = gauge(
    "tidelog_group_lag_seconds_max", "The largest lag of a group in a partition, in seconds.", "group"
)
LAG_UNKNOWN = gauge(
    "tidelog_group_lag_unknown_partitions",
    "Committed offsets without a lag, since it is not known here where their partition ends.",
)
LAG_RECORDS = gauge(
    "tidelog_group_lag_records",
    "Records between the committed offset of a group and the high watermark of the partition, at the "
    "group's coordinator. Records of open transactions count, too.",
    "group",
    "topic",
    "partition",
    kafka=_LAG,
)
LAG_SECONDS = gauge(
    "tidelog_group_lag_seconds",
    "How long the next record for the group has been in the partition; for a group that was behind already "
    "when its coordinator began to watch, the time since then.",
    "group",
    "topic",
    "partition",
    kafka=_LAG,
)
COMMITTED = gauge(
    "tidelog_group_committed_offset", "The committed offset of a group.", "group", "topic", "partition"
)
REBALANCES = counter(
    "tidelog_group_rebalances_total",
    "Generations and epochs that groups went through.",
    kafka="kafka.server:type=group-coordinator-metrics,name=consumer-group-rebalance-count",
)
OFFSET_COMMITS = counter(
    "tidelog_offset_commits_total",
    "Committed offsets, one a partition.",
    kafka="kafka.server:type=group-coordinator-metrics,name=offset-commit-count",
)
SHARDS = gauge(
    "tidelog_coordinator_shards",
    "Partitions of internal topics that this broker coordinates, by state (loading, active, failed).",
    "topic",
    "state",
    kafka="kafka.server:type=group-coordinator-metrics,name=num-partitions",
)
SHARD_LOAD_SECONDS = gauge(
    "tidelog_coordinator_load_seconds_max",
    "The longest time that a shard took to load.",
    "topic",
    kafka="kafka.server:type=group-coordinator-metrics,name=partition-load-time-max",
)
