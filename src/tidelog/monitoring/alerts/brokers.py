"""Brokers that are away, and processes that are short of something."""

from tidelog.monitoring.alerts.alert import critical, warning

BROKER_DOWN = critical(
    "TidelogBrokerDown",
    # A job is Tidelog's if any of its targets was a broker during the last day: no job needs a certain name.
    "up == 0 and on (job) count by (job) (last_over_time(tidelog_info[1d]))",
    "1m",
    "Broker {{ $labels.instance }} does not answer",
    "Prometheus cannot scrape {{ $labels.instance }} of {{ $labels.job }}: the process, its machine or the "
    "network between them is down.",
)
BROKER_FENCED = warning(
    "TidelogBrokerFenced",
    'max by (job) (tidelog_brokers{state="fenced"}) > 0',
    "5m",
    "{{ $value }} brokers of {{ $labels.job }} are fenced",
    "The controller of {{ $labels.job }} has heard no heartbeat of {{ $value }} registered brokers for five "
    "minutes: they lead no partition.",
)
BROKER_NOT_READY = warning(
    "TidelogBrokerNotReady",
    "tidelog_ready == 0",
    "5m",
    "Broker {{ $labels.instance }} runs, and is not ready",
    "{{ $labels.instance }} of {{ $labels.job }} has not been ready for five minutes; its /readyz says why.",
)
MEMORY_PRESSURE = warning(
    "TidelogMemoryPressure",
    "tidelog_memory_pressure == 1",
    "5m",
    "Broker {{ $labels.instance }} is short of memory",
    "{{ $labels.instance }} of {{ $labels.job }} has been close to its memory limit for five minutes, and "
    "the kernel may end it.",
)
MEMORY_BUDGET = warning(
    "TidelogRequestMemoryExhausted",
    "rate(tidelog_memory_stalls_total[5m]) > 1",
    "10m",
    "Requests wait for memory on {{ $labels.instance }}",
    "Connections to {{ $labels.instance }} of {{ $labels.job }} had to wait for memory {{ $value | "
    "humanize }} times a second: queued.max.request.bytes is used up.",
)
FILE_DESCRIPTORS = warning(
    "TidelogFileDescriptorsShort",
    "process_open_fds / process_max_fds > 0.85 and on (job, instance) tidelog_info",
    "5m",
    "Broker {{ $labels.instance }} runs out of file descriptors",
    "{{ $labels.instance }} of {{ $labels.job }} has {{ $value | humanizePercentage }} of its file "
    "descriptors open.",
)
CLOCK_JUMPED = warning(
    "TidelogClockJumped",
    "increase(tidelog_clock_jumps_total[15m]) > 0 or tidelog_clock_held > 0",
    "0m",
    "The clock of {{ $labels.instance }} jumped",
    "The system's clock under {{ $labels.instance }} of {{ $labels.job }} jumped. After a jump ahead, "
    "nothing expires by it before the broker restarts or clock.jump.hold.ms is over: set it right before.",
)
EVENT_LOOP = warning(
    "TidelogEventLoopLate",
    "histogram_quantile(0.99, sum by (job, instance, le) (rate(tidelog_event_loop_lag_seconds_bucket[5m]))) "
    "> 0.25",
    "10m",
    "Broker {{ $labels.instance }} is too busy",
    "The event loop of {{ $labels.instance }} of {{ $labels.job }} ran {{ $value | humanizeDuration }} late "
    "(99th percentile of five minutes): every request waits that long.",
)
METRICS_INCOMPLETE = warning(
    "TidelogMetricsIncomplete",
    "sum by (job, instance) (increase(tidelog_metrics_collector_errors_total[15m])) > 0 "
    "or tidelog_metrics_series_left_out > 0",
    "15m",
    "Metrics of {{ $labels.instance }} are missing",
    "A collector of {{ $labels.instance }} of {{ $labels.job }} failed, or its page reached the limit of "
    "series: other alerts may be blind.",
)
