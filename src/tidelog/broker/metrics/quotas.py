"""Clients that were held back or refused, and the audit record."""

from collections.abc import Iterator

from tidelog.broker.requests.context import Services
from tidelog.metrics.families import quotas as families
from tidelog.metrics.page import Page


class QuotasCollector:
    def __init__(self, services: Services) -> None:
        self._services = services

    def collect(self, page: Page) -> Iterator[None]:
        services = self._services
        for quota, count in services.throttled.requests.items():
            page.add(families.THROTTLED, count, quota)
            page.add(families.THROTTLE_SECONDS, services.throttled.milliseconds[quota] / 1000, quota)
        page.add(families.QUOTA_ENTITIES, 0 if services.throttle is None else len(services.throttle))
        for (operation, resource_type), count in services.denials.items():
            page.add(families.DENIALS, count, operation.name.lower(), resource_type.name.lower())
        audit = services.audit
        if audit is not None:
            page.add(families.AUDIT_EVENTS, audit.events)
            page.add(families.AUDIT_LOST, audit.lost_lines)
        yield
