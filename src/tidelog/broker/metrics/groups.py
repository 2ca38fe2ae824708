"""Groups that this broker coordinates, and the shards of all coordinators."""

from collections import Counter
from collections.abc import Iterator

from tidelog.broker.requests.context import Services
from tidelog.metrics.families import groups as families
from tidelog.metrics.page import Page

GROUPS_A_TURN = 500


class GroupsCollector:
    def __init__(self, services: Services) -> None:
        self._services = services

    def collect(self, page: Page) -> Iterator[None]:
        services = self._services
        for service in services.coordinators:
            topic = service.registration.topic
            for state, count in service.states.items():
                page.add(families.SHARDS, count, topic, state)
            page.add(families.SHARD_LOAD_SECONDS, service.load_seconds_max, topic)
        page.add(families.REBALANCES, services.group_counters.rebalances)
        page.add(families.OFFSET_COMMITS, services.group_counters.offset_commits)
        yield
        kinds: Counter[tuple[str, str]] = Counter()
        for served in services.groups:
            known = list(served.shard_as_written.groups.values())
            for first in range(0, len(known), GROUPS_A_TURN):
                kinds.update((one.kind.value, one.state_name) for one in known[first : first + GROUPS_A_TURN])
                yield
        for (kind, state), count in kinds.items():
            page.add(families.GROUPS, count, kind, state)
