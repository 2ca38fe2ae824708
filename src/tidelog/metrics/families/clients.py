"""Clients' own metrics, which they push (KIP-714).

Clients name hundreds of metrics, and newer clients will name more. Each name is a label of one of two
families, so that this table stays the place where names of families are made, and no client can add one:
`max by (client_id) (tidelog_client_metric{metric="org.apache.kafka.producer.node.request.latency.avg"})`.
"""

from tidelog.metrics.family import counter, gauge

_KAFKA = "kafka.server:type=client-metrics,name={}"
_LABELS = (
    "metric",
    "client_id",
    "client_instance_id",
    "software",
    "group",
    "topic",
    "partition",
    "node",
    "detail",
)

INSTANCES = gauge(
    "tidelog_client_instances",
    "Clients that push their metrics to this broker.",
    kafka=_KAFKA.format("instance-count"),
)
PUSHES = counter(
    "tidelog_client_telemetry_pushes_total",
    "Pushes of clients' metrics by result: accepted, refused, throttled.",
    "result",
    kafka=_KAFKA.format("plugin-export-count|plugin-error-count|throttle-count"),
)
SERIES = gauge("tidelog_client_series", "Values of clients' metrics that this broker keeps.")
SERIES_LEFT_OUT = counter(
    "tidelog_client_series_left_out_total",
    "Values that clients pushed and metrics.clients.series.max had no room for.",
)
VALUE = gauge(
    "tidelog_client_metric",
    "The last value of a client's metric, with the name and the unit that the client gave it.",
    *_LABELS,
)
COUNTER = counter(
    "tidelog_client_metric_total",
    "As tidelog_client_metric, for metrics that only grow.",
    *_LABELS,
)
