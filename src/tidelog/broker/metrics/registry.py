"""The schema registry: calls at this broker, and what it holds where this broker leads it."""

from collections.abc import Iterator

from tidelog.broker.requests.context import Services
from tidelog.metrics.families import registry as families
from tidelog.metrics.page import Page


class RegistryCollector:
    def __init__(self, services: Services) -> None:
        self._services = services

    def collect(self, page: Page) -> Iterator[None]:
        registry = self._services.registry
        if registry is None:
            return
        if registry.loaded is not None:
            tally = registry.loaded.tally
            for (method, status), count in tally.calls.items():
                page.add(families.CALLS, count, method, status)
            for method, seconds in tally.seconds.items():
                page.add_histogram(families.CALL_SECONDS, seconds, method)
        yield
        shard = registry.coordinator.shard
        if shard is not None:
            subjects = shard.state.subjects
            page.add(families.SCHEMAS, sum(map(len, subjects.values())))
            page.add(families.SUBJECTS, len(subjects))
