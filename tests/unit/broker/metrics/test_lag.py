"""The lag of groups: limits leave sums and the largest lags, and unknown ends are counted."""

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from tests.rigs.quotas import StillClock
from tests.rigs.scrape import Scraped, filled
from tidelog.broker.metrics.end_history import EndHistory
from tidelog.broker.metrics.lag import LagCollector
from tidelog.groups.offsets.committed import OffsetStore
from tidelog.groups.record_formats.offset_commit import CommittedOffset
from tidelog.metrics.collectors import Collectors
from tidelog.metrics.page import Page

END = 100


def scraped(
    committed: dict[str, int], *, partitions_max: int = 10, groups_max: int = 10, known: bool = True
) -> Scraped:
    """One offset a group, in a partition that ended at 0 ten seconds ago and ends at 100 now."""
    offsets = OffsetStore()
    for group_id, offset in committed.items():
        offsets.put(group_id, "orders", 0, CommittedOffset(offset))
    groups = {name: SimpleNamespace(id=name, members={"m": 1}) for name in (*committed, "idle")}
    shard = SimpleNamespace(groups=groups, durable=SimpleNamespace(offsets=offsets))
    limits = {"metrics.partitions.max": partitions_max, "metrics.groups.max": groups_max}
    services: Any = SimpleNamespace(
        groups=[SimpleNamespace(shard_as_written=shard)], config=SimpleNamespace(int=limits.__getitem__)
    )
    clock, history = StillClock(), EndHistory()
    history.add(clock.now - 10, 0)
    history.add(clock.now, END)
    ends: Any = SimpleNamespace(find=({("orders", 0): (END, history)} if known else {}).get)
    collectors = Collectors()
    collectors.add("lag", LagCollector(services, ends, clock).collect)
    return filled(collectors)


def test_lag_of_a_partition_and_of_a_group() -> None:
    page = scraped({"near": 90, "far": 20, "ahead": 101})
    assert page.value("tidelog_group_lag_records", group="far", topic="orders", partition=0) == 80
    assert page.value("tidelog_group_lag_seconds", group="far") == 8.0
    assert page.value("tidelog_group_lag_seconds_max", group="near") == 1.0
    assert page.value("tidelog_group_lag_records", group="ahead") == 0
    assert page.value("tidelog_group_committed_offset", group="ahead") == 101
    assert page.value("tidelog_group_members", group="idle") == 1
    assert page.values("tidelog_group_total_lag_records", group="idle") == []


def test_above_the_limit_of_partitions_sums_remain() -> None:
    page = scraped({"near": 90, "far": 20}, partitions_max=1)
    assert page.values("tidelog_group_lag_records") == []
    assert page.value("tidelog_group_total_lag_records", group="far") == 80


def test_above_the_limit_of_groups_the_largest_lags_are_shown() -> None:
    page = scraped({"a": 90, "b": 20, "c": 50}, groups_max=2)
    shown = {labels["group"] for labels, _ in page.samples["tidelog_group_members"]}
    assert shown == {"b", "c"}


def test_a_partition_without_a_known_end_is_counted() -> None:
    page = scraped({"near": 90})
    assert page.value("tidelog_group_lag_unknown_partitions") == 0
    page = scraped({"near": 90}, known=False)
    assert page.value("tidelog_group_lag_unknown_partitions") == 1
    assert page.values("tidelog_group_lag_records") == []
    assert page.value("tidelog_group_committed_offset") == 90
    assert page.values("tidelog_group_total_lag_records") == [], "0 would say that all is read"
    assert page.values("tidelog_group_lag_seconds_max") == []


def test_a_group_of_many_partitions_takes_turns_and_may_commit_meanwhile() -> None:
    offsets = OffsetStore()
    for partition in range(3_000):
        offsets.put("g", "orders", partition, CommittedOffset(1))
    shard = SimpleNamespace(
        groups={"g": SimpleNamespace(id="g", members={})}, durable=SimpleNamespace(offsets=offsets)
    )
    limits = {"metrics.partitions.max": 10, "metrics.groups.max": 10}
    services: Any = SimpleNamespace(
        groups=[SimpleNamespace(shard_as_written=shard)], config=SimpleNamespace(int=limits.__getitem__)
    )
    looks: list[object] = []
    ends: Any = SimpleNamespace(find=looks.append)
    seen = []
    for turn, _ in enumerate(LagCollector(services, ends, StillClock()).collect(Page())):
        seen.append(len(looks))
        offsets.put("g", "orders", 10_000 + turn, CommittedOffset(1))
        offsets.put("g", f"topic-{turn}", 0, CommittedOffset(1))
    assert max(after - before for before, after in pairwise([0, *seen])) <= 200
    assert seen[-1] >= 3_000
