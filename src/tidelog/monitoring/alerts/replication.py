"""Partitions: leaders, in-sync sets, and elections that lose records."""

from tidelog.monitoring.alerts.alert import critical, warning

OFFLINE = critical(
    "TidelogOfflinePartitions",
    "max by (job) (tidelog_offline_partitions) > 0",
    "1m",
    "{{ $value }} partitions of {{ $labels.job }} have no leader",
    "{{ $value }} partitions of {{ $labels.job }} can be neither read nor written: all their in-sync "
    "replicas are away.",
)
UNDER_MIN_ISR = critical(
    "TidelogUnderMinIsr",
    "sum by (job) (tidelog_under_min_isr_partitions) > 0",
    "2m",
    "{{ $value }} partitions of {{ $labels.job }} refuse acks=all",
    "{{ $value }} partitions of {{ $labels.job }} have fewer in-sync replicas than min.insync.replicas.",
)
UNDER_REPLICATED = warning(
    "TidelogUnderReplicated",
    "sum by (job) (tidelog_under_replicated_partitions) > 0",
    "10m",
    "{{ $value }} partitions of {{ $labels.job }} are under-replicated",
    "In-sync sets of {{ $value }} partitions of {{ $labels.job }} have been smaller than their replicas "
    "for ten minutes.",
)
ISR_FLAPPING = warning(
    "TidelogIsrFlapping",
    "sum by (job) (increase(tidelog_isr_shrinks_total[15m])) > 10 "
    "and sum by (job) (increase(tidelog_isr_expands_total[15m])) > 10",
    "10m",
    "In-sync sets of {{ $labels.job }} keep changing",
    "In-sync sets of {{ $labels.job }} shrank {{ $value | humanize }} times in 15 minutes and grew again: "
    "followers are just too slow.",
)
UNCLEAN = critical(
    "TidelogUncleanElection",
    "max by (job) (increase(tidelog_unclean_elections_total[1h])) > 0",
    "0m",
    "Records of {{ $labels.job }} may be lost",
    "{{ $value | humanize }} leaders of {{ $labels.job }} were elected from outside the in-sync set in the "
    "last hour.",
)
DAMAGED = critical(
    "TidelogDamagedPartitions",
    "tidelog_damaged_partitions > 0",
    "1m",
    "{{ $value }} replicas on {{ $labels.instance }} are damaged",
    "{{ $labels.instance }} of {{ $labels.job }} cannot read or write the logs of {{ $value }} replicas.",
)
IMBALANCED = warning(
    "TidelogLeadersImbalanced",
    "max by (job) (tidelog_imbalanced_partitions) / max by (job) (tidelog_partitions) > 0.3",
    "1h",
    "Leaders of {{ $labels.job }} are uneven",
    "{{ $value | humanizePercentage }} of the partitions of {{ $labels.job }} have been led by another than "
    "their preferred replica for an hour.",
)
SHARD_FAILED = critical(
    "TidelogCoordinatorFailed",
    'sum by (job, topic) (tidelog_coordinator_shards{state="failed"}) > 0',
    "2m",
    "A coordinator of {{ $labels.job }} has failed",
    "{{ $value }} partitions of {{ $labels.topic }} of {{ $labels.job }} could not be loaded: their groups "
    "or transactions have no coordinator.",
)
