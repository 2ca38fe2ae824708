"""The depth of queues at the coordinators of their state: groups without members have one, too.

Sums of a group over the partitions of a topic whose state is kept here. Above `metrics.groups.max` the
deepest queues are shown.
"""

from collections.abc import Iterator
from heapq import nlargest

from tidelog.base.ports import Clock
from tidelog.broker.metrics.end_offsets import EndOffsets
from tidelog.broker.requests.context import Services
from tidelog.metrics.families import shares as families
from tidelog.metrics.page import Page
from tidelog.shares.states import NO_START_OFFSET

STATES_A_TURN = 150


class ShareLagCollector:
    def __init__(self, services: Services, ends: EndOffsets, clock: Clock) -> None:
        self._services = services
        self._ends = ends
        self._clock = clock

    def collect(self, page: Page) -> Iterator[None]:
        topics = self._services.metadata.image.topics_by_id
        found: dict[tuple[str, str], tuple[int, float]] = {}
        looked_at = 0
        for served in self._services.share_states.service:
            for place, start, finished in served.shard_as_written.starts():
                topic = topics.get(place.topic_id)
                end = None if topic is None else self._ends.find((topic.name, place.partition))
                if topic is not None and end is not None and start != NO_START_OFFSET:
                    key = place.group_id, topic.name
                    depth, age = found.get(key, (0, 0.0))
                    there = max(start, self._ends.start_of((topic.name, place.partition)))
                    # Of finished records it is not known how many retention took: the smaller one is right
                    # for an empty log, and never less than what is there.
                    depth += max(0, min(end[0] - start - max(0, finished), end[0] - there))
                    found[key] = depth, max(age, end[1].age(there, self._clock.monotonic(), end[0]))
                looked_at += 1
                if looked_at % STATES_A_TURN == 0:
                    yield
        groups_max = self._services.config.int("metrics.groups.max")
        for (group, topic_name), (depth, age) in nlargest(groups_max, found.items(), key=lambda one: one[1]):
            page.add(families.DEPTH, depth, group, topic_name)
            page.add(families.OLDEST_SECONDS, round(age, 3), group, topic_name)
