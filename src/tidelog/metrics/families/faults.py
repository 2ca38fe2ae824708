"""Faults that an operator meets: full and bad disks, open files, clocks, memory."""

from tidelog.metrics.family import counter, gauge

LOG_DIR_REFUSING = gauge(
    "tidelog_log_dir_refusing",
    "1 for a log dir below log.dirs.min.free.bytes, which takes no records.",
    "log_dir",
)
LOG_DIR_RESERVE_BYTES = gauge(
    "tidelog_log_dir_reserve_bytes", "The reserve of a log dir (log.dirs.min.free.bytes).", "log_dir"
)
LOG_DIR_REFUSING_IN_SECONDS = gauge(
    "tidelog_log_dir_refusing_in_seconds",
    "Time until a log dir refuses records, at the growth of the last ten minutes; +Inf: it does not grow.",
    "log_dir",
)
LOG_DIR_REFUSED_BATCHES = counter(
    "tidelog_log_dir_refused_batches_total",
    "Record batches of producers that a log dir without enough free space refused.",
    "log_dir",
)
LOG_DIR_HANGS = gauge(
    "tidelog_log_dir_hangs",
    "1 for a log dir whose sync takes longer than replica.lag.time.max.ms: other brokers lead.",
    "log_dir",
)
LOG_DIR_JOURNAL_FAILED = gauge(
    "tidelog_log_dir_journal_failed",
    "1 for a log dir whose journal failed: its logs are synced one by one until another begins.",
    "log_dir",
)
SLOW_SYNCS = counter("tidelog_slow_syncs_total", "Syncs that took longer than the limit.", "log_dir")
OPEN_FILES_SHORT = counter(
    "tidelog_open_files_exhausted_total",
    "Logs that were not opened, or synced, for want of a descriptor.",
    "what",
)
CLOCK_JUMPS = counter(
    "tidelog_clock_jumps_total", "Jumps of the system's clock against the time that passed."
)
CLOCK_JUMP_SECONDS = gauge("tidelog_clock_jump_seconds", "The last jump of the system's clock, in seconds.")
CLOCK_HELD = gauge(
    "tidelog_clock_held",
    "1 while a jump of the system's clock is not believed: what expires by age keeps to the time before it.",
)
MEMORY_LIMIT_BYTES = gauge(
    "tidelog_memory_limit_bytes", "The memory limit of this process's cgroup; the machine's without one."
)
MEMORY_USED_BYTES = gauge(
    "tidelog_memory_used_bytes", "Memory in use under that limit, without what the kernel can drop."
)
MEMORY_PRESSURE = gauge(
    "tidelog_memory_pressure", "1 while memory is short, and the broker gives back what it can."
)
