"""What clients notice: errors, waiting, refusals."""

from tidelog.monitoring.alerts.alert import critical, warning

CLUSTERS_FAULT = (
    "UNKNOWN_SERVER_ERROR|CORRUPT_MESSAGE|LEADER_NOT_AVAILABLE|REQUEST_TIMED_OUT|BROKER_NOT_AVAILABLE|"
    "NETWORK_EXCEPTION|COORDINATOR_LOAD_IN_PROGRESS|COORDINATOR_NOT_AVAILABLE|NOT_ENOUGH_REPLICAS|"
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND|KAFKA_STORAGE_ERROR"
)
"""Errors that no client causes: those of a client that asks for a wrong topic are its own affair."""

NO_WAITING = "Produce|Metadata|FindCoordinator|OffsetCommit|Heartbeat|InitProducerId|EndTxn"
"""APIs that wait for no data and no other member, so that a long time is a slow one."""

REQUEST_ERRORS = warning(
    "TidelogRequestErrors",
    f'sum by (job, api) (rate(tidelog_request_errors_total{{error=~"{CLUSTERS_FAULT}"}}[5m])) '
    "/ sum by (job, api) (rate(tidelog_requests_total[5m])) > 0.05",
    "5m",
    "{{ $labels.api }} requests to {{ $labels.job }} fail",
    "{{ $value | humanizePercentage }} of the {{ $labels.api }} requests to {{ $labels.job }} end with an "
    "error of the cluster.",
)
REQUEST_LATENCY = warning(
    "TidelogRequestsSlow",
    "histogram_quantile(0.99, sum by (job, instance, api, le) "
    f'(rate(tidelog_request_seconds_bucket{{api=~"{NO_WAITING}"}}[5m]))) > 1',
    "10m",
    "{{ $labels.api }} requests to {{ $labels.instance }} are slow",
    "{{ $labels.api }} requests to {{ $labels.instance }} of {{ $labels.job }} take "
    "{{ $value | humanizeDuration }} (99th percentile of five minutes).",
)
AUTHENTICATION = warning(
    "TidelogAuthenticationFailures",
    "sum by (job, listener, mechanism) (rate(tidelog_authentication_failures_total[5m])) > 1",
    "5m",
    "Clients fail to authenticate at {{ $labels.job }}",
    "{{ $value | humanize }} connections a second fail to authenticate on {{ $labels.listener }} of "
    "{{ $labels.job }} ({{ $labels.mechanism }}): a wrong password in a deployment, an expired "
    "certificate, or an attack.",
)
CONNECTIONS_REFUSED = warning(
    "TidelogConnectionsRefused",
    "sum by (job, instance, reason) (rate(tidelog_connections_refused_total[5m])) > 1",
    "5m",
    "Broker {{ $labels.instance }} turns connections away",
    "{{ $labels.instance }} of {{ $labels.job }} turns {{ $value | humanize }} connections a second away: "
    "{{ $labels.reason }}.",
)
CERTIFICATE_EXPIRING = warning(
    "TidelogCertificateExpiring",
    "tidelog_certificate_expiry_time_seconds - time() < 14 * 86400",
    "0m",
    "The certificate of {{ $labels.listener }} on {{ $labels.instance }} ends soon",
    "The certificate of listener {{ $labels.listener }} on {{ $labels.instance }} of {{ $labels.job }} "
    "ends in {{ $value | humanizeDuration }}.",
)
CERTIFICATE_EXPIRED = critical(
    "TidelogCertificateExpired",
    "tidelog_certificate_expiry_time_seconds - time() < 86400",
    "0m",
    "The certificate of {{ $labels.listener }} on {{ $labels.instance }} ends today, or has ended",
    "The certificate of listener {{ $labels.listener }} on {{ $labels.instance }} of {{ $labels.job }} "
    "ends in {{ $value | humanizeDuration }} (negative: it has ended, and clients refuse it).",
)
AUDIT_LOST = critical(
    "TidelogAuditEventsLost",
    "increase(tidelog_audit_lost_events_total[15m]) > 0",
    "0m",
    "Audit events of {{ $labels.instance }} are lost",
    "{{ $labels.instance }} of {{ $labels.job }} could not write {{ $value | humanize }} audit events in 15 "
    "minutes: the record has a hole.",
)
