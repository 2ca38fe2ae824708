"""The schema registry: calls of its API at this broker, and what the leader of `_schemas` holds."""

from tidelog.metrics.family import counter, gauge, histogram

CALLS = counter(
    "tidelog_schema_registry_calls_total",
    "Calls of the schema registry's API that this broker has answered, itself or with the answer of the "
    "leader of `_schemas`, by method and class of the HTTP status (2xx, 4xx, 5xx).",
    "method",
    "status",
    kafka="kafka.schema.registry:type=jersey-metrics (request-rate, request-error-rate)",
)
CALL_SECONDS = histogram(
    "tidelog_schema_registry_call_seconds",
    "From a whole call to its answer, the way to the leader included.",
    "method",
    kafka="kafka.schema.registry:type=jersey-metrics (request-latency-avg)",
)
SCHEMAS = gauge(
    "tidelog_schema_registry_schemas",
    "Versions of all subjects, soft-deleted ones included; at the leader of `_schemas` alone.",
    kafka="kafka.schema.registry:type=registered-count",
)
SUBJECTS = gauge(
    "tidelog_schema_registry_subjects",
    "Subjects, soft-deleted ones included; at the leader of `_schemas` alone.",
)
