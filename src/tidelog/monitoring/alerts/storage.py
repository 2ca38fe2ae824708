"""Disks and what works on them."""

from tidelog.monitoring.alerts.alert import critical, warning

DISK_FULL_SOON = warning(
    "TidelogDiskFullSoon",
    "predict_linear(tidelog_log_dir_free_bytes[1h], 6 * 3600) < tidelog_log_dir_reserve_bytes",
    "15m",
    "The disk of {{ $labels.log_dir }} on {{ $labels.instance }} is full within six hours",
    "At the pace of the last hour the disk of {{ $labels.log_dir }} on {{ $labels.instance }} of "
    "{{ $labels.job }} is down to its reserve within six hours; the broker then refuses records.",
)
DISK_LOW = warning(
    "TidelogDiskLow",
    "tidelog_log_dir_free_bytes / tidelog_log_dir_total_bytes < 0.1",
    "10m",
    "The disk of {{ $labels.log_dir }} on {{ $labels.instance }} is nearly full",
    "{{ $value | humanizePercentage }} of the disk of {{ $labels.log_dir }} on {{ $labels.instance }} of "
    "{{ $labels.job }} is free.",
)
DISK_BELOW_RESERVE = critical(
    "TidelogDiskBelowReserve",
    "tidelog_log_dir_refusing == 1",
    "0m",
    "{{ $labels.instance }} refuses records: {{ $labels.log_dir }} is full",
    "The disk of {{ $labels.log_dir }} on {{ $labels.instance }} of {{ $labels.job }} has less free than "
    "log.dirs.min.free.bytes, so the broker takes no records there until there is room again.",
)
LOG_DIR_OFFLINE = critical(
    "TidelogLogDirOffline",
    "tidelog_log_dir_offline == 1",
    "0m",
    "Log dir {{ $labels.log_dir }} on {{ $labels.instance }} failed",
    "{{ $labels.instance }} of {{ $labels.job }} took {{ $labels.log_dir }} out of service after an error "
    "of the disk; other replicas lead its partitions now.",
)
LOG_DIR_HANGS = critical(
    "TidelogLogDirHangs",
    "tidelog_log_dir_hangs == 1",
    "0m",
    "Log dir {{ $labels.log_dir }} on {{ $labels.instance }} hangs",
    "A sync of {{ $labels.log_dir }} on {{ $labels.instance }} of {{ $labels.job }} does not come back; "
    "other replicas lead its partitions until it does.",
)
FSYNC_SLOW = warning(
    "TidelogFsyncSlow",
    "histogram_quantile(0.99, sum by (job, instance, log_dir, le) "
    "(rate(tidelog_fsync_seconds_bucket[5m]))) > 0.5",
    "10m",
    "The disk of {{ $labels.log_dir }} on {{ $labels.instance }} is slow",
    "Syncs of {{ $labels.log_dir }} on {{ $labels.instance }} of {{ $labels.job }} take "
    "{{ $value | humanizeDuration }} (99th percentile of five minutes).",
)
CLEANER_FAILED = warning(
    "TidelogCleanerFailed",
    "tidelog_cleaner_failed_logs > 0",
    "5m",
    "Compaction on {{ $labels.instance }} gave up logs",
    "{{ $labels.instance }} of {{ $labels.job }} does not compact {{ $value }} logs after a failure: they "
    "grow.",
)
