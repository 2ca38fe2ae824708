"""The lag of groups at their coordinator: of each partition while there are not too many, and of each group.

Groups above the limit are those with the smallest lag: an operator looks for the largest.
"""

from collections.abc import Iterator
from heapq import nlargest
from operator import attrgetter

from tidelog.base.ports import Clock
from tidelog.broker.metrics.end_offsets import EndOffsets
from tidelog.broker.requests.context import Services
from tidelog.groups.offsets.committed import GroupOffsets
from tidelog.metrics.families import groups as families
from tidelog.metrics.family import Family
from tidelog.metrics.page import Page

OFFSETS_A_TURN = 150

Committed = tuple[str, int, int]
"""Topic, partition and offset."""


class GroupLag:
    __slots__ = ("committed", "group_id", "members", "offsets", "records", "seconds_max", "unknown")

    def __init__(self, group_id: str, members: int) -> None:
        self.group_id = group_id
        self.members = members
        self.offsets: list[tuple[str, int, int, int, float]] = []
        """Topic, partition, committed offset, lag in records and in seconds; -1 where that is not known.

        Empty while the page shows no single partition.
        """
        self.committed = 0
        """The number of committed offsets."""
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
        groups_max, details_max = config.int("metrics.groups.max"), config.int("metrics.partitions.max")
        lags: list[GroupLag] = []
        committed = looked_at = 0
        for served in self._services.groups:
            shard = served.shard_as_written
            for group in list(shard.groups.values()):
                lags.append(lag := GroupLag(group.id, len(group.members)))
                offsets = shard.durable.offsets.of_group(group.id)
                for piece in _pieces(offsets):
                    committed += len(piece)
                    self._measure(lag, piece, is_detailed=committed <= details_max)
                    looked_at += len(piece)
                    if looked_at >= OFFSETS_A_TURN:
                        looked_at = 0
                        yield
                looked_at += 1
        page.add(families.LAG_UNKNOWN, sum(lag.unknown for lag in lags))
        is_detailed = committed <= details_max
        shown = lags if len(lags) <= groups_max else nlargest(groups_max, lags, key=attrgetter("records"))
        for number, lag in enumerate(shown):
            page.add(families.MEMBERS, lag.members, lag.group_id)
            if lag.committed > lag.unknown:  # no lag is not a lag of 0
                page.add(families.TOTAL_LAG_RECORDS, lag.records, lag.group_id)
                page.add(families.LAG_SECONDS_MAX, round(lag.seconds_max, 3), lag.group_id)
            if is_detailed:
                _add_detail(page, lag)
            if is_detailed or number % OFFSETS_A_TURN == 0:
                yield

    def _measure(self, lag: GroupLag, piece: list[Committed], *, is_detailed: bool) -> None:
        now, find = self._clock.monotonic(), self._ends.find
        lag.committed += len(piece)
        for topic, partition, offset in piece:
            found = find((topic, partition))
            if found is None:
                lag.unknown += 1
                records, seconds = -1, -1.0
            else:
                end, history = found
                records = max(0, end - offset)
                seconds = history.age(offset, now, end)
                lag.records += records
                lag.seconds_max = max(lag.seconds_max, seconds)
            if is_detailed:
                lag.offsets.append((topic, partition, offset, records, round(seconds, 3)))


def _pieces(offsets: GroupOffsets) -> Iterator[list[Committed]]:
    """Short lists, so that a group of ten thousand partitions takes turns. Commits may come between them."""
    piece: list[Committed] = []
    for topic, partitions in list(offsets.items()):
        for partition, committed in list(partitions.items()):
            piece.append((topic, partition, committed.offset))
            if len(piece) == OFFSETS_A_TURN:
                yield piece
                piece = []
    yield piece


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
