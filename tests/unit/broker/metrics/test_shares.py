"""Metrics of share groups: queues at coordinators and leaders, bounded by the number of groups."""

from collections import Counter
from types import SimpleNamespace
from typing import Any, ClassVar

from tests.rigs import virtual_time
from tests.rigs.quotas import StillClock
from tests.rigs.scrape import Scraped, filled
from tests.rigs.shares import GROUP, TOPIC, TOPIC_ID, ShareRig
from tidelog.base.errors import ErrorCode
from tidelog.broker.metrics.end_history import EndHistory
from tidelog.broker.metrics.end_offsets import EARLIEST, LATEST, EndOffsets
from tidelog.broker.metrics.share_lag import ShareLagCollector
from tidelog.broker.metrics.shares import SharesCollector
from tidelog.metrics.collectors import Collectors
from tidelog.shares.place import SharePlace
from tidelog.shares.states import NO_START_OFFSET, AckType
from tidelog.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

WAIT = {"max_wait_ms": 500}
END = 100


def scraped(rig: ShareRig, groups_max: int = 10) -> Scraped:
    services: Any = SimpleNamespace(
        shares=rig.services.shares,
        deletion=SimpleNamespace(deleted_records=5),
        config=SimpleNamespace(int={"metrics.groups.max": groups_max}.__getitem__),
    )
    collectors = Collectors()
    collectors.add("share groups", SharesCollector(services).collect)
    return filled(collectors)


def test_what_members_do_is_counted() -> None:
    async def run() -> None:
        rig = ShareRig(settings={"share.retry.backoff.ms": "60000"})
        rig.produce(*[b"x"] * 6)
        anna = rig.worker("anna")
        await anna.take(max_records=4, share_acquire_mode=1, **WAIT)
        await anna.done(0, 1)
        await anna.done(2, kind=AckType.RELEASE)
        page = scraped(rig)
        of_queue = {"group": GROUP, "topic": TOPIC}
        assert page.value("tidelog_share_group_acquired_records", **of_queue) == 1
        assert page.value("tidelog_share_group_delayed_records", **of_queue) == 1
        assert page.value("tidelog_share_group_scheduled_records", **of_queue) == 0
        assert page.value("tidelog_share_group_archiving_records", **of_queue) == 0
        assert page.value("tidelog_share_deliveries_total") == 4
        assert page.value("tidelog_share_redeliveries_total") == 0
        assert page.value("tidelog_share_acknowledgements_total", type="accept") == 2
        assert page.value("tidelog_share_acknowledgements_total", type="release") == 1
        assert page.value("tidelog_share_acknowledgements_total", type="reject") == 0
        assert page.value("tidelog_share_sessions") == 1
        assert page.value("tidelog_share_session_partitions") == 1
        assert page.value("tidelog_share_partitions") == 1
        assert page.value("tidelog_share_state_saves_total") == 2
        assert page.value("tidelog_share_deleted_records_total") == 5
        rig.configure({"share.retry.backoff.ms": "0"})
        bert = rig.worker("bert")
        assert await bert.take_ranges(**WAIT) == [(4, 5, 1)]
        await bert.done(4, 5)
        assert await bert.take_ranges(max_wait_ms=40_000) == [(3, 3, 2)]
        page = scraped(rig)
        assert page.value("tidelog_share_lock_timeouts_total") == 1
        assert page.value("tidelog_share_deliveries_total") == 7
        assert page.value("tidelog_share_redeliveries_total") == 1

    virtual_time.run(run())


def test_saves_that_fail_are_counted() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"x")
        anna = rig.worker("anna")
        await anna.take(**WAIT)
        rig.store.errors = [ErrorCode.COORDINATOR_NOT_AVAILABLE]
        await anna.done(0)
        page = scraped(rig)
        assert page.value("tidelog_share_state_saves_total") == 2
        assert page.value("tidelog_share_state_save_failures_total") == 1

    virtual_time.run(run())


def test_dead_letters_that_are_held_up_show_their_group() -> None:
    async def run() -> None:
        rig = ShareRig()
        letters: Any = SimpleNamespace(
            written=Counter(a=3, b=1),
            failed=Counter(a=7),
            problems={SharePlace(group, TOPIC_ID, n): None for n, group in enumerate(("a", "a", "b"))},
        )
        rig.shares.dead_letters = letters
        page = scraped(rig, groups_max=1)
        assert page.value("tidelog_share_dead_letters_total") == 4
        assert page.value("tidelog_share_dead_letter_failures_total") == 7
        assert page.samples["tidelog_share_group_held_up_dead_letters"] == [({"group": "a"}, 2)]

    virtual_time.run(run())


def test_a_broker_without_share_groups_shows_nothing_of_them() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.services.shares = None
        shown = [name for name in scraped(rig).samples if "share" in name]
        assert shown == ["tidelog_share_deleted_records_total"]

    virtual_time.run(run())


def lag(
    starts: dict[str, tuple[int, int]], *, groups_max: int = 10, known: bool = True, log_start: int = 0
) -> Scraped:
    """A queue a group, in a partition that ended at 0 ten seconds ago and ends at 100 now."""
    shard = SimpleNamespace(
        starts=lambda: [(SharePlace(group, TOPIC_ID, 0), *start) for group, start in starts.items()]
    )
    image = SimpleNamespace(topics_by_id={TOPIC_ID: SimpleNamespace(name=TOPIC)})
    services: Any = SimpleNamespace(
        metadata=SimpleNamespace(image=image),
        share_states=SimpleNamespace(service=[SimpleNamespace(shard_as_written=shard)]),
        config=SimpleNamespace(int={"metrics.groups.max": groups_max}.__getitem__),
    )
    clock, history = StillClock(), EndHistory()
    history.add(clock.now - 10, 0)
    history.add(clock.now, END)
    found = {(TOPIC, 0): (END, history)} if known else {}
    ends: Any = SimpleNamespace(find=found.get, start_of={(TOPIC, 0): log_start}.__getitem__)
    collectors = Collectors()
    collectors.add("queues", ShareLagCollector(services, ends, clock).collect)
    return filled(collectors)


def test_depth_counts_what_is_not_finished() -> None:
    page = lag({"deep": (20, 30), "done": (100, 0), "unknown": (90, -1), "new": (NO_START_OFFSET, -1)})
    assert page.value("tidelog_share_group_depth_records", group="deep", topic=TOPIC) == 50
    assert page.value("tidelog_share_group_oldest_record_seconds", group="deep", topic=TOPIC) == 8.0
    assert page.value("tidelog_share_group_depth_records", group="done") == 0
    assert page.value("tidelog_share_group_oldest_record_seconds", group="done") == 0
    assert page.value("tidelog_share_group_depth_records", group="unknown") == 10
    assert page.values("tidelog_share_group_depth_records", group="new") == []


def test_records_that_retention_took_are_not_counted() -> None:
    behind = {"behind": (20, 30), "ahead": (95, 1)}
    page = lag(behind, log_start=90)
    assert page.value("tidelog_share_group_depth_records", group="behind") == 10
    assert page.value("tidelog_share_group_oldest_record_seconds", group="behind") == 1.0
    assert page.value("tidelog_share_group_depth_records", group="ahead") == 4
    empty = lag(behind, log_start=END)
    assert empty.value("tidelog_share_group_depth_records", group="behind") == 0
    assert empty.value("tidelog_share_group_oldest_record_seconds", group="behind") == 0
    assert empty.value("tidelog_share_group_depth_records", group="ahead") == 0


def test_the_deepest_queues_are_shown_and_no_end_is_no_depth() -> None:
    page = lag({"a": (90, 0), "b": (20, 0), "c": (50, 0)}, groups_max=2)
    assert {labels["group"] for labels, _ in page.samples["tidelog_share_group_depth_records"]} == {"b", "c"}
    assert lag({"a": (90, 0)}, known=False).values("tidelog_share_group_depth_records") == []


def test_ends_are_sampled_where_queues_are() -> None:
    image = SimpleNamespace(topics_by_id={TOPIC_ID: SimpleNamespace(name=TOPIC)})
    shard = [SharePlace("g", TOPIC_ID, 4), SharePlace("g", bytes(16), 0)]
    services: Any = SimpleNamespace(
        groups=[],
        metadata=SimpleNamespace(image=image),
        share_states=SimpleNamespace(service=[SimpleNamespace(shard_as_written=shard)]),
    )
    assert list(EndOffsets(services)._wanted()) == [(TOPIC, 4)]


def test_other_leaders_say_where_the_logs_of_queues_start() -> None:
    class Peers:
        asked: ClassVar[list[tuple[int, str, int]]] = []

        async def call(self, leader: int, _key: Any, _version: int, request: Any, **_: Any) -> Any:
            answers = []
            for topic in request.topics:
                for one in topic.partitions:
                    self.asked.append((leader, topic.name, one.timestamp))
                    offset = END if one.timestamp == LATEST else 90
                    answer = ListOffsetsPartitionResponse(partition_index=one.partition_index, offset=offset)
                    answers.append(ListOffsetsTopicResponse(name=topic.name, partitions=[answer]))
            return ListOffsetsResponse(topics=answers)

    image = SimpleNamespace(
        topics_by_id={TOPIC_ID: SimpleNamespace(name=TOPIC)}, partition=lambda *_: SimpleNamespace(leader=2)
    )
    offsets = SimpleNamespace(group_ids=lambda: ["c"], of_group=lambda _: {"plain": [0]})
    consumers = SimpleNamespace(durable=SimpleNamespace(offsets=offsets))
    queues = [SharePlace("g", TOPIC_ID, 0)]
    services: Any = SimpleNamespace(
        groups=[SimpleNamespace(shard_as_written=consumers)],
        metadata=SimpleNamespace(image=image),
        share_states=SimpleNamespace(service=[SimpleNamespace(shard_as_written=queues)]),
        partitions=SimpleNamespace(led=lambda *_: None),
        clock=StillClock(),
        peers=Peers(),
    )

    async def run() -> None:
        ends = EndOffsets(services)
        for _ in range(2):
            await ends.sample()
        assert ends.start_of((TOPIC, 0)) == 90
        assert ends.start_of(("plain", 0)) == 0
        assert (2, "plain", EARLIEST) not in Peers.asked
        queues.clear()
        await ends.sample()
        assert ends.start_of((TOPIC, 0)) == 0

    virtual_time.run(run())
