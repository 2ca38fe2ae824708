"""Share groups."""

from tidelog.monitoring.alerts.alert import warning

DEAD_LETTERS_HELD_UP = warning(
    "TidelogDeadLettersHeldUp",
    "sum by (job, group) (tidelog_share_group_held_up_dead_letters) > 0",
    "5m",
    "Dead letters of share group {{ $labels.group }} cannot be written",
    "The dead letters of share group {{ $labels.group }} of {{ $labels.job }} have not been written at "
    "{{ $value }} partitions for 5 minutes. They wait, and nothing is lost.",
)
OLDEST_RECORD = warning(
    "TidelogQueueStandsStill",
    "max by (job, group, topic) (tidelog_share_group_oldest_record_seconds) > 3600 "
    "unless on (job, group, topic) sum by (job, group, topic) "
    "(tidelog_share_group_scheduled_records + tidelog_share_group_delayed_records) > 0",
    "10m",
    "Share group {{ $labels.group }} does not finish a record of {{ $labels.topic }}",
    "The oldest record of {{ $labels.topic }} that share group {{ $labels.group }} of {{ $labels.job }} has "
    "not finished has waited for {{ $value | humanizeDuration }}.",
)
LOCKS_TIME_OUT = warning(
    "TidelogQueueLocksTimeOut",
    "sum by (job) (rate(tidelog_share_lock_timeouts_total[15m])) "
    "> 0.1 * sum by (job) (rate(tidelog_share_deliveries_total[15m])) "
    "and sum by (job) (increase(tidelog_share_lock_timeouts_total[15m])) > 100",
    "15m",
    "Workers of {{ $labels.job }} keep records for too long",
    "{{ $value | humanize }} records a second of share groups of {{ $labels.job }} are not acknowledged "
    "before their locks end, and are delivered again.",
)
