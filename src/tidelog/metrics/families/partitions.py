"""Partitions: sums that are always there, and detail while there are not too many of them."""

from tidelog.metrics.family import counter, gauge

_KAFKA = "kafka.server:type=ReplicaManager,name={}"
_DETAIL = "kafka.log:type=Log,name={},topic=*,partition=*"

REPLICAS = gauge("tidelog_replicas", "Replicas on this broker.", kafka=_KAFKA.format("PartitionCount"))
LEADERS = gauge("tidelog_leaders", "Partitions that this broker leads.", kafka=_KAFKA.format("LeaderCount"))
UNDER_REPLICATED = gauge(
    "tidelog_under_replicated_partitions",
    "Partitions led here with fewer in-sync replicas than replicas.",
    kafka=_KAFKA.format("UnderReplicatedPartitions"),
)
UNDER_MIN_ISR = gauge(
    "tidelog_under_min_isr_partitions",
    "Partitions led here that refuse acks=all: fewer in-sync replicas than min.insync.replicas.",
    kafka=_KAFKA.format("UnderMinIsrPartitionCount"),
)
AT_MIN_ISR = gauge(
    "tidelog_at_min_isr_partitions",
    "Partitions led here that refuse acks=all once one more replica falls behind.",
    kafka=_KAFKA.format("AtMinIsrPartitionCount"),
)
REASSIGNING = gauge(
    "tidelog_reassigning_partitions",
    "Partitions led here that move.",
    kafka=_KAFKA.format("ReassigningPartitions"),
)
DAMAGED = gauge("tidelog_damaged_partitions", "Replicas here whose log cannot be read or written.")
ISR_SHRINKS = counter(
    "tidelog_isr_shrinks_total",
    "Times that this leader took a replica out of an in-sync set.",
    kafka=_KAFKA.format("IsrShrinksPerSec"),
)
ISR_EXPANDS = counter(
    "tidelog_isr_expands_total",
    "Times that this leader took a replica into an in-sync set.",
    kafka=_KAFKA.format("IsrExpandsPerSec"),
)
REPLICA_LAG_MAX = gauge(
    "tidelog_replica_lag_records_max",
    "How far the slowest follower on this broker is behind its leader, in records.",
    kafka="kafka.server:type=ReplicaFetcherManager,name=MaxLag,clientId=Replica",
)
LOG_START = gauge(
    "tidelog_partition_log_start_offset",
    "The first offset of a partition, at its leader.",
    "topic",
    "partition",
    kafka=_DETAIL.format("LogStartOffset"),
)
LOG_END = gauge(
    "tidelog_partition_log_end_offset",
    "The offset of the next record of a partition, at its leader.",
    "topic",
    "partition",
    kafka=_DETAIL.format("LogEndOffset"),
)
HIGH_WATERMARK = gauge(
    "tidelog_partition_high_watermark", "Records below it are committed; at the leader.", "topic", "partition"
)
SIZE_BYTES = gauge(
    "tidelog_partition_size_bytes",
    "Bytes of a replica's log on this broker.",
    "topic",
    "partition",
    kafka=_DETAIL.format("Size"),
)
SEGMENTS = gauge(
    "tidelog_partition_segments",
    "Segments of a replica's log on this broker.",
    "topic",
    "partition",
    kafka=_DETAIL.format("NumLogSegments"),
)
IN_SYNC = gauge(
    "tidelog_partition_in_sync_replicas",
    "In-sync replicas of a partition, at its leader.",
    "topic",
    "partition",
    kafka="kafka.cluster:type=Partition,name=InSyncReplicasCount,topic=*,partition=*",
)
REPLICA_COUNT = gauge(
    "tidelog_partition_replicas",
    "Replicas of a partition, at its leader.",
    "topic",
    "partition",
    kafka="kafka.cluster:type=Partition,name=ReplicasCount,topic=*,partition=*",
)
FOLLOWER_LAG = gauge(
    "tidelog_partition_follower_lag_records",
    "How far a follower is behind, in records, at the leader.",
    "topic",
    "partition",
    "broker",
    kafka="kafka.server:type=FetcherLagMetrics,name=ConsumerLag,clientId=*,topic=*,partition=*",
)
