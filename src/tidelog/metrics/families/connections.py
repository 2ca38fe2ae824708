"""Connections, and the memory that requests hold."""

from tidelog.metrics.family import counter, gauge

_KAFKA = "kafka.server:type=socket-server-metrics,listener=*,networkProcessor=*,name={}"

CONNECTIONS = gauge(
    "tidelog_connections", "Open connections.", "listener", kafka=_KAFKA.format("connection-count")
)
CONNECTIONS_ACCEPTED = counter(
    "tidelog_connections_accepted_total",
    "Connections accepted.",
    "listener",
    kafka=_KAFKA.format("connection-creation-total"),
)
CONNECTIONS_REFUSED = counter(
    "tidelog_connections_refused_total", "Connections turned away by a limit.", "reason"
)
CONNECTIONS_TIMED_OUT = counter(
    "tidelog_connections_timed_out_total",
    "Connections closed after a time limit.",
    kafka=_KAFKA.format("expired-connections-killed-count"),
)
AUTHENTICATION_FAILURES = counter(
    "tidelog_authentication_failures_total",
    "Connections that did not authenticate, by mechanism (SSL for certificates).",
    "listener",
    "mechanism",
    kafka=_KAFKA.format("failed-authentication-total"),
)
HANDSHAKES_FAILED = counter("tidelog_tls_handshakes_failed_total", "TLS handshakes that failed.")
CERTIFICATE_EXPIRY = gauge(
    "tidelog_certificate_expiry_time_seconds",
    "When the certificate of a TLS listener ends, in seconds since 1970.",
    "listener",
)
PROTOCOL_ERRORS = counter(
    "tidelog_protocol_errors_total", "Connections closed since they broke the protocol."
)
RECEIVED_BYTES = counter(
    "tidelog_network_received_bytes_total",
    "Bytes that came in from clients and brokers.",
    kafka=_KAFKA.format("incoming-byte-total"),
)
SENT_BYTES = counter(
    "tidelog_network_sent_bytes_total",
    "Bytes that went out to clients and brokers.",
    kafka=_KAFKA.format("outgoing-byte-total"),
)
MEMORY_BUDGET_BYTES = gauge(
    "tidelog_memory_budget_bytes",
    "The most memory that requests and answers may hold (queued.max.request.bytes).",
)
MEMORY_HELD_BYTES = gauge("tidelog_memory_held_bytes", "Memory that requests and answers hold.")
MEMORY_STALLS = counter(
    "tidelog_memory_stalls_total",
    "Times that a connection had to wait for memory.",
    kafka="kafka.network:type=SocketServer,name=MemoryPoolAvgDepletedPercent",
)
