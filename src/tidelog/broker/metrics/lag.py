"""The lag of groups at their coordinator: of each partition while there are not too many, and of each group.

Groups above the limit are those with the smallest lag: an operator looks for the largest.
"""

from collections.abc import Iterator
from heapq import nlargest
from operator import attrgetter

from tidelog.base.ports import Clock
from tidelog.broker.metrics.end_offsets import EndOffsets
from tidelog.broker.requests.context import Services
from tidelog.groups.consumer.room import AnyGroup
from tidelog.groups.offsets.committed import GroupOffsets
from tidelog.metrics.families import groups as families
from tidelog.metrics.family import Family
from tidelog.metrics.page import Page

OFFSETS_A_TURN = 150


class GroupLag:
    __slots__ = ("group_id", "members", "offsets", "records", "seconds_max", "unknown")

    def __init__(self, group_id: str, members: int) -> None:
        self.group_id = group_id
        self.members = members
        self.offsets: list[tuple[str, int, int, int, float]] = []
        """Topic, partition, committed offset, lag in records and in seconds; -1 where that is not known."""
        self.records = 0
        self.seconds_max = 0.0
        self.unknown = 0


class LagCollector:
    def __init__(self, services: Services, ends: EndOffsets, clock: Clock) -> None:
        self._services = services
        self._ends = ends
        self._clock = clock

    def collect(self, page: Page) -> Iterator[None]:
        config = self._services.config
        lags: list[GroupLag] = []
        looked_at = 0
        for served in self._services.groups:
            shard = served.shard_as_written
            for group in list(shard.groups.values()):
                offsets = shard.durable.offsets.of_group(group.id)
                lag = self._measure(group, offsets)
                lags.append(lag)
                looked_at += len(lag.offsets) + 1
                if looked_at >= OFFSETS_A_TURN:
                    looked_at = 0
                    yield
        page.add(families.LAG_UNKNOWN, sum(lag.unknown for lag in lags))
        is_detailed = sum(len(lag.offsets) for lag in lags) <= config.int("metrics.partitions.max")
        groups_max = config.int("metrics.groups.max")
        shown = lags if len(lags) <= groups_max else nlargest(groups_max, lags, key=attrgetter("records"))
        for number, lag in enumerate(shown):
            page.add(families.MEMBERS, lag.members, lag.group_id)
            if lag.offsets:
                page.add(families.TOTAL_LAG_RECORDS, lag.records, lag.group_id)
                page.add(families.LAG_SECONDS_MAX, round(lag.seconds_max, 3), lag.group_id)
            if is_detailed:
                _add_detail(page, lag)
            if is_detailed or number % OFFSETS_A_TURN == 0:
                yield

    def _measure(self, group: AnyGroup, offsets: GroupOffsets) -> GroupLag:
        lag = GroupLag(group.id, len(group.members))
        now, find = self._clock.monotonic(), self._ends.find
        for topic, partitions in offsets.items():
            for partition, committed in partitions.items():
                found = find((topic, partition))
                if found is None:
                    lag.unknown += 1
                    lag.offsets.append((topic, partition, committed.offset, -1, -1.0))
                    continue
                end, history = found
                records = max(0, end - committed.offset)
                seconds = history.age(committed.offset, now, end)
                lag.records += records
                lag.seconds_max = max(lag.seconds_max, seconds)
                lag.offsets.append((topic, partition, committed.offset, records, round(seconds, 3)))
        return lag


def _add_detail(page: Page, lag: GroupLag) -> None:
    rows: dict[Family, list[tuple[str, float]]] = {
        families.COMMITTED: [],
        families.LAG_RECORDS: [],
        families.LAG_SECONDS: [],
    }
    committed, records, seconds = rows.values()
    for topic, partition, offset, records_behind, seconds_behind in lag.offsets:
        labels = page.braces(families.COMMITTED, lag.group_id, topic, partition)
        committed.append((labels, offset))
        if records_behind >= 0:
            records.append((labels, records_behind))
            seconds.append((labels, seconds_behind))
    for family, samples in rows.items():
        if samples:
            page.add_rows(family, samples)
