"""Clients' own metrics, which they push (KIP-714)."""

from tidelog.metrics.family import counter, gauge

INSTANCES = gauge(
    "tidelog_client_instances",
    "Clients that push their metrics to this broker.",
    kafka="kafka.server:type=client-metrics,name=ClientMetricsInstanceCount",
)
PUSHES = counter(
    "tidelog_client_telemetry_pushes_total",
    "Pushes of clients' metrics by result: accepted, refused, dropped.",
    "result",
)
VALUE = gauge(
    "tidelog_client_metric",
    "The last value of a client's metric, with the name that the client gave it.",
    "metric",
    "client_id",
    "client_instance_id",
    "software",
    "detail",
)
