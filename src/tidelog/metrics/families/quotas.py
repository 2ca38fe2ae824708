"""Quotas, denials and the audit record."""

from tidelog.metrics.family import counter, gauge

THROTTLED = counter(
    "tidelog_throttled_requests_total",
    "Requests that a quota held back: produce, fetch, request, mutation.",
    "quota",
    kafka="kafka.server:type=Produce|Fetch|Request,user=*,client-id=* (throttle-time)",
)
THROTTLE_SECONDS = counter("tidelog_throttle_seconds_total", "Time that quotas held requests back.", "quota")
QUOTA_ENTITIES = gauge("tidelog_quota_entities", "Clients whose quota this broker keeps account of.")
DENIALS = counter(
    "tidelog_authorization_denials_total",
    "Permissions that clients asked for and did not have.",
    "operation",
    "resource_type",
)
AUDIT_EVENTS = counter("tidelog_audit_events_total", "Events in the audit record.")
AUDIT_LOST = counter("tidelog_audit_lost_events_total", "Audit events that could not be written.")
