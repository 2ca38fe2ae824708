"""Log dirs, syncs, recovery, compaction and retention."""

from tidelog.metrics.family import counter, gauge, histogram

_CLEANER = "kafka.log:type=LogCleanerManager,name={}"

LOG_DIR_FREE_BYTES = gauge("tidelog_log_dir_free_bytes", "Bytes free on the disk of a log dir.", "log_dir")
LOG_DIR_TOTAL_BYTES = gauge("tidelog_log_dir_total_bytes", "Bytes that the disk of a log dir has.", "log_dir")
LOG_DIR_LOG_BYTES = gauge(
    "tidelog_log_dir_log_bytes",
    "Bytes of all logs in a log dir.",
    "log_dir",
    kafka="kafka.log:type=Log,name=Size",
)
LOG_DIR_OFFLINE = gauge(
    "tidelog_log_dir_offline",
    "1 for a log dir that failed.",
    "log_dir",
    kafka="kafka.log:type=LogManager,name=OfflineLogDirectoryCount",
)
FSYNC_SECONDS = histogram(
    "tidelog_fsync_seconds",
    "Time of syncs of logs to the disk, with the wait for a disk thread.",
    "log_dir",
    kafka="kafka.log:type=LogFlushStats,name=LogFlushRateAndTimeMs",
)
APPENDED_BYTES = counter(
    "tidelog_log_appended_bytes_total", "Bytes appended to logs, by producers and as a follower."
)
RECOVERY_LOGS = gauge(
    "tidelog_recovery_logs",
    "Logs that this start has to open, and those that it has opened: total or done.",
    "state",
    kafka="kafka.log:type=LogManager,name=remainingLogsToRecover",
)
RECOVERY_SECONDS = gauge("tidelog_recovery_seconds", "How long opening the logs took, or has taken so far.")
CLEANED_BYTES = counter("tidelog_cleaner_read_bytes_total", "Bytes that compaction has read.")
CLEANER_FREED_BYTES = counter("tidelog_cleaner_freed_bytes_total", "Bytes that compaction has freed.")
CLEANER_RUNS = counter(
    "tidelog_cleaner_runs_total",
    "Logs compacted.",
    kafka="kafka.log:type=LogCleaner,name=cleaner-recopy-percent",
)
CLEANER_DIRTY_RATIO = gauge(
    "tidelog_cleaner_dirty_ratio_max",
    "The largest share of a compacted log that is not compacted.",
    kafka=_CLEANER.format("max-dirty-percent"),
)
CLEANER_BUSY_SECONDS = counter("tidelog_cleaner_busy_seconds_total", "Time that compaction has worked.")
CLEANER_FAILED_LOGS = gauge(
    "tidelog_cleaner_failed_logs",
    "Logs that compaction gave up.",
    kafka=_CLEANER.format("uncleanable-partitions-count"),
)
RETIRED_SEGMENTS = counter("tidelog_retention_deleted_segments_total", "Segments that retention has deleted.")
RETIRED_BYTES = counter("tidelog_retention_deleted_bytes_total", "Bytes that retention has deleted.")
DISK_THREADS_WAITING = gauge("tidelog_disk_threads_waiting", "Jobs that wait for a disk thread.")
