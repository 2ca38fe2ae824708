"""Consumer groups, transactions and pipelines."""

from tidelog.monitoring.alerts.alert import critical, warning

ON_TOPIC = "{{ with $labels.topic }} on {{ . }}{{ end }}"
"""A broker with more partitions than metrics.partitions.max shows the lag of groups alone."""

LAG_GROWING = warning(
    "TidelogGroupLagGrowing",
    "sum by (job, group, topic) (tidelog_group_lag_records) > 10000 "
    "and sum by (job, group, topic) (deriv(tidelog_group_lag_records[15m])) > 0 "
    "or sum by (job, group) (tidelog_group_total_lag_records) > 10000 "
    "and sum by (job, group) (deriv(tidelog_group_total_lag_records[15m])) > 0 "
    "unless on (job, group) tidelog_group_lag_records",
    "15m",
    "Group {{ $labels.group }} falls behind" + ON_TOPIC,
    "Group {{ $labels.group }} of {{ $labels.job }} is {{ $value | humanize }} records behind"
    + ON_TOPIC
    + ", and has been losing ground for 15 minutes.",
)
LAG_HIGH = warning(
    "TidelogGroupLagHigh",
    "max by (job, group, topic) (tidelog_group_lag_seconds) > 600 "
    "or max by (job, group) (tidelog_group_lag_seconds_max) > 600 "
    "unless on (job, group) tidelog_group_lag_seconds",
    "10m",
    "Group {{ $labels.group }} is late" + ON_TOPIC,
    "Group {{ $labels.group }} of {{ $labels.job }} reads records {{ $value | humanizeDuration }} after they "
    "arrived" + ON_TOPIC + ".",
)
TRANSACTION_HANGING = warning(
    "TidelogTransactionHanging",
    "tidelog_transaction_oldest_open_seconds > 1800",
    "5m",
    "A transaction on {{ $labels.instance }} hangs",
    "{{ $labels.instance }} of {{ $labels.job }} coordinates a transaction that has been open for "
    "{{ $value | humanizeDuration }}: readers of committed records wait for its end.",
)
PIPELINE_FAILED = critical(
    "TidelogPipelineFailed",
    "tidelog_pipeline_up == 0",
    "1m",
    "Pipeline {{ $labels.pipeline }} failed",
    "Query {{ $labels.query }} of pipeline {{ $labels.pipeline }} on {{ $labels.instance }} has stopped "
    "with an error.",
)
PIPELINE_DOWN = critical(
    "TidelogPipelineDown",
    "up == 0 and on (job) count by (job) (last_over_time(tidelog_pipeline_up[1d]))",
    "2m",
    "The pipelines on {{ $labels.instance }} do not answer",
    "Prometheus cannot scrape {{ $labels.instance }} of {{ $labels.job }}, which runs pipelines: the "
    "process or its machine is down.",
)
PIPELINE_STALLED = warning(
    "TidelogPipelineStalled",
    "time() - max by (job, pipeline, query) (tidelog_pipeline_last_batch_time_seconds) > 600 "
    "and sum by (job, pipeline, query) (tidelog_pipeline_lag_records) > 0",
    "5m",
    "Pipeline {{ $labels.pipeline }} stands still",
    "Query {{ $labels.query }} of pipeline {{ $labels.pipeline }} has records to read, and finished its last "
    "micro-batch {{ $value | humanizeDuration }} ago.",
)
PIPELINE_RESTARTING = warning(
    "TidelogPipelineRestarting",
    "increase(tidelog_pipeline_restarts_total[30m]) > 3",
    "0m",
    "Pipeline {{ $labels.pipeline }} keeps failing",
    "Query {{ $labels.query }} of pipeline {{ $labels.pipeline }} was started again {{ $value | humanize }} "
    "times in 30 minutes.",
)
