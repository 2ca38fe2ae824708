"""DescribeSharePartitions: records by state, members and deliveries of what is loaded on this broker."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.rigs import virtual_time
from tests.rigs.log import NOW_MS
from tests.rigs.shares import GROUP, TOPIC, TOPIC_ID, ShareRig
from tidelog.base.errors import ErrorCode
from tidelog.broker.handlers.shares.describe_share_partitions import handle
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.context import Context
from tidelog.security.acls.vocabulary import ResourceType
from tidelog.shares.states import AckType, DeliveryState
from tidelog.wire.messages.describe_share_partitions import (
    DescribedSharePartition,
    DescribeSharePartitionsRequest,
    DescribeSharePartitionsTopic,
)
from tidelog.wire.messages.read_share_group_state import StateBatch

WAIT = {"max_wait_ms": 500}


async def described(rig: ShareRig, **asked: Any) -> list[DescribedSharePartition]:
    context = Context(rig.services, ClientConnection("192.0.2.9", 1, "PLAINTEXT"), 0, "test")
    answer = await handle(context, DescribeSharePartitionsRequest(**asked))
    assert answer.error_code == 0
    return answer.partitions


def test_records_by_state_with_their_deliveries_and_holders() -> None:
    async def run() -> None:
        rig = ShareRig(settings={"share.retry.backoff.ms": "60000"})
        rig.produce(*[b"x"] * 5)
        rig.produce(*[b"y"] * 5)
        anna, bert = rig.worker("anna"), rig.worker("bert")
        await anna.take(max_records=5, share_acquire_mode=1, **WAIT)
        await anna.done(1, 2)
        await anna.done(0, kind=AckType.RELEASE)
        await bert.take(max_records=2, share_acquire_mode=1, **WAIT)
        [found] = await described(rig)
        assert (found.group_id, found.topic_name, found.topic_id, found.partition) == (
            *(GROUP, TOPIC, TOPIC_ID, 0),
        )
        assert (found.start_offset, found.end_offset, found.readable_end) == (0, 7, 10)
        assert (found.available, found.acquired, found.delayed, found.done) == (0, 4, 1, 2)
        assert [(one.count, one.records) for one in found.delivery_counts] == [(1, 5)]
        now_ms = rig.clock.now_ms()
        held = {one.member_id: (one.acquired, one.next_deadline_ms - now_ms) for one in found.members}
        assert held.keys() == {"anna", "bert"}
        assert [records for records, _ in held.values()] == [2, 2]
        assert all(29_000 < left <= 30_000 for _, left in held.values())
        assert 59_000 < found.next_due_ms - now_ms <= 60_000
        assert found.oldest_timestamp == NOW_MS
        assert found.dead_letter_problem is None

    virtual_time.run(run())


def test_the_oldest_record_is_the_first_that_is_not_done() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"a")
        worker = rig.worker()
        await worker.take(**WAIT)
        await worker.done(0)
        [found] = await described(rig)
        assert (found.start_offset, found.oldest_timestamp) == (1, -1)
        rig.produce(b"b")
        [found] = await described(rig)
        assert (found.readable_end, found.oldest_timestamp) == (2, NOW_MS)

    virtual_time.run(run())


def test_a_group_and_partitions_can_be_named() -> None:
    async def run() -> None:
        rig = ShareRig(partitions=3)
        await rig.worker().take(**WAIT)

        async def indexes(**asked: Any) -> list[int]:
            return [one.partition for one in await described(rig, **asked)]

        def topic(name: str, *partitions: int) -> list[DescribeSharePartitionsTopic]:
            return [DescribeSharePartitionsTopic(name=name, partitions=list(partitions))]

        assert await indexes() == [0, 1, 2]
        assert await indexes(group_id=GROUP) == [0, 1, 2]
        assert await indexes(group_id="others") == []
        assert await indexes(topics=topic(TOPIC)) == [0, 1, 2]
        assert await indexes(topics=topic(TOPIC, 2, 7)) == [2]
        assert await indexes(topics=topic("other")) == []
        assert await indexes(topics=[]) == []

    virtual_time.run(run())


def test_what_the_parts_beside_it_know_is_in_the_answer() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.shares.dead_letter_problem = lambda led: f"no topic for {led.place.group_id}"
        rig.shares.scheduled_due = lambda _: NOW_MS + 5
        await rig.worker().take(**WAIT)
        [found] = await described(rig)
        assert found.dead_letter_problem == f"no topic for {GROUP}"
        assert found.next_due_ms == NOW_MS + 5

    virtual_time.run(run())


def named(*partitions: int) -> list[DescribeSharePartitionsTopic]:
    return [DescribeSharePartitionsTopic(name=TOPIC, partitions=list(partitions))]


def test_a_named_partition_that_no_member_reads_is_looked_up_in_the_stored_state() -> None:
    async def run() -> None:
        rig = ShareRig(partitions=2)
        rig.produce(*[b"x"] * 9)
        rig.store.start_offset, rig.store.state_epoch = 2, 7
        rig.store.batches = [
            StateBatch(
                first_offset=2, last_offset=3, delivery_state=DeliveryState.AVAILABLE, delivery_count=4
            ),
            StateBatch(
                first_offset=4, last_offset=4, delivery_state=DeliveryState.ARCHIVING, delivery_count=5
            ),
            _delayed(5, NOW_MS + 60_000),
            _delayed(6, NOW_MS - 1),
            StateBatch(
                first_offset=7, last_offset=7, delivery_state=DeliveryState.ACKNOWLEDGED, delivery_count=1
            ),
        ]
        [found] = await described(rig, group_id=GROUP, topics=named(0), states_from=3)
        assert (found.start_offset, found.readable_end, found.state_epoch) == (2, 9, 7)
        assert (found.acquired, found.delayed, found.archiving, found.done) == (0, 1, 1, 1)
        assert found.scheduled == -1, "that is not known"
        assert (found.next_due_ms, found.oldest_timestamp) == (NOW_MS + 60_000, NOW_MS)
        assert [(one.count, one.records) for one in found.delivery_counts] == [(2, 2), (4, 2), (5, 1)]
        assert found.members == []
        assert found.states_to == -1
        assert [
            (one.first_offset, one.last_offset, one.delivery_state, one.delivery_count, one.available_at)
            for one in found.record_states
        ] == [
            (3, 3, DeliveryState.AVAILABLE, 4, -1),
            (4, 4, DeliveryState.ARCHIVING, 5, -1),
            (5, 5, DeliveryState.AVAILABLE, 2, NOW_MS + 60_000),
            (6, 6, DeliveryState.AVAILABLE, 2, -1),
            (7, 7, DeliveryState.ACKNOWLEDGED, 1, -1),
        ]
        assert len(rig.shares) == 0, "a look loads nothing"
        assert rig.store.writes == []

    virtual_time.run(run())


def test_records_that_retention_took_are_not_counted_in_the_stored_state() -> None:
    async def run() -> None:
        rig = ShareRig()
        for _ in range(3):
            rig.produce(*[b"x"] * 3)
        rig.store.start_offset, rig.store.state_epoch = 1, 7
        rig.store.batches = [
            StateBatch(
                first_offset=1, last_offset=7, delivery_state=DeliveryState.AVAILABLE, delivery_count=4
            )
        ]
        rig.partition.log.delete_before(6)
        [found] = await described(rig, group_id=GROUP, topics=named(0))
        assert (found.start_offset, found.log_start_offset, found.readable_end, found.done) == (1, 6, 9, 0)
        assert [(one.count, one.records) for one in found.delivery_counts] == [(4, 2)]
        rig.partition.log.delete_before(9)
        [found] = await described(rig, group_id=GROUP, topics=named(0))
        assert (found.start_offset, found.log_start_offset, found.readable_end, found.done) == (1, 9, 9, 0)
        assert found.delivery_counts == []
        assert rig.store.writes == []

    virtual_time.run(run())


def depth_of(found: DescribedSharePartition) -> int:
    """As `tidelog queue` counts it."""
    return found.readable_end - max(found.start_offset, found.log_start_offset) - found.done


def test_what_is_done_at_the_start_of_the_log_counts_as_done_in_the_stored_state() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(*[b"x"] * 10)
        rig.store.start_offset, rig.store.state_epoch = 0, 7
        rig.store.batches = [
            StateBatch(
                first_offset=0, last_offset=0, delivery_state=DeliveryState.AVAILABLE, delivery_count=1
            ),
            StateBatch(
                first_offset=1, last_offset=8, delivery_state=DeliveryState.ACKNOWLEDGED, delivery_count=1
            ),
        ]
        for log_start, depth in ((0, 2), (1, 1), (5, 1), (10, 0)):
            rig.partition.log.delete_before(log_start)
            [found] = await described(rig, group_id=GROUP, topics=named(0))
            assert depth_of(found) == depth

    virtual_time.run(run())


def test_what_retention_took_is_not_done_where_the_state_is_loaded() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(*[b"x"] * 10)
        anna = rig.worker()
        await anna.take(**WAIT)
        await anna.done(1, 5)
        [found] = await described(rig)
        assert depth_of(found) == 5
        rig.partition.log.delete_before(6)
        [found] = await described(rig)
        assert (found.start_offset, found.done, depth_of(found)) == (6, 0, 4)

    virtual_time.run(run())


@pytest.mark.parametrize("is_loaded", [True, False])
def test_dead_letters_of_records_that_retention_took_are_dying_and_not_in_the_depth(is_loaded: bool) -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(*[b"x"] * 10)
        rig.store.start_offset, rig.store.state_epoch = 1, 7
        rig.store.batches = [
            StateBatch(
                first_offset=2, last_offset=3, delivery_state=DeliveryState.ARCHIVING, delivery_count=1
            ),
            StateBatch(
                first_offset=4, last_offset=6, delivery_state=DeliveryState.ACKNOWLEDGED, delivery_count=1
            ),
        ]
        rig.partition.log.delete_before(5)
        if is_loaded:
            await rig.worker().take(max_records=1, **WAIT)
        [found] = await described(rig, group_id=GROUP, topics=named(0))
        assert (found.archiving, found.done, depth_of(found)) == (2, 2, 3)

    virtual_time.run(run())


def _delayed(offset: int, available_at: int) -> StateBatch:
    return StateBatch(
        first_offset=offset,
        last_offset=offset,
        delivery_state=DeliveryState.AVAILABLE,
        delivery_count=2,
        available_at=available_at,
    )


def test_only_what_is_named_here_and_begun_is_looked_up() -> None:
    async def run() -> None:
        rig = ShareRig(partitions=3)
        rig.produce(b"x")
        asked = {"group_id": GROUP, "topics": named(0, 1, 7)}
        assert await described(rig, **asked) == [], "the group has not begun"
        rig.store.start_offset = 0
        reads = rig.store.reads
        assert await described(rig, group_id=GROUP) == []
        assert await described(rig, topics=named(0)) == []
        assert await described(rig, group_id=GROUP, topics=named()) == []
        rig.move_away(1)
        assert [one.partition for one in await described(rig, **asked)] == [0]
        assert rig.store.reads == reads + 1
        rig.store.errors = [ErrorCode.GROUP_ID_NOT_FOUND]
        assert await described(rig, **asked) == [], "it has no state"

        rig.moved.clear()
        await rig.worker().take(**WAIT)
        reads = rig.store.reads
        [loaded] = await described(rig, group_id=GROUP, topics=named(0), states_from=0)
        assert (loaded.acquired, loaded.scheduled) == (1, 0)
        assert [one.delivery_state for one in loaded.record_states] == [DeliveryState.ACQUIRED]
        assert rig.store.reads == reads, "the leader knows better"

    virtual_time.run(run())


def test_a_coordinator_that_does_not_answer_ends_the_look() -> None:
    async def run() -> None:
        rig = ShareRig(partitions=3)
        rig.store.errors = [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2
        [found] = await described(rig, group_id=GROUP, topics=named(0, 1, 2))
        assert found.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert len(rig.store.errors) == 1

    virtual_time.run(run())


def test_a_broker_without_share_partitions_has_none_to_describe() -> None:
    async def run() -> None:
        rig = ShareRig()
        assert await described(rig) == []
        rig.services.shares = None
        assert await described(rig) == []
        rig.metadata.image = replace(rig.metadata.image, features={})
        answer = await handle(
            Context(rig.services, ClientConnection("192.0.2.9", 1, "PLAINTEXT"), 0, "test"),
            DescribeSharePartitionsRequest(),
        )
        assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION

    virtual_time.run(run())


class Blind:
    """An authorizer that shows everything but resources of one type."""

    def __init__(self, hidden: ResourceType) -> None:
        self._hidden = hidden

    def allows(self, _who: str, _host: str, _operation: Any, kind: ResourceType, _name: str) -> bool:
        return kind is not self._hidden


def test_groups_and_topics_that_the_client_may_not_see_are_left_out_or_refused_by_name() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.services.denials, rig.services.audit = {}, None
        await rig.worker().take(**WAIT)
        named = [DescribeSharePartitionsTopic(name=TOPIC)]
        much = [DescribeSharePartitionsTopic(name=TOPIC, partitions=list(range(1000)))] * 2
        rig.services.authorizer = Blind(ResourceType.TOPIC)
        assert await described(rig) == []
        [refused] = await described(rig, topics=named)
        assert (refused.partition, refused.error_code) == (-1, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        assert await described(rig, topics=much) == [refused], "a long name is not repeated in the answer"
        rig.services.authorizer = Blind(ResourceType.GROUP)
        assert await described(rig, topics=named) == []
        context = Context(rig.services, ClientConnection("192.0.2.9", 1, "PLAINTEXT"), 0, "test")
        answer = await handle(context, DescribeSharePartitionsRequest(group_id=GROUP))
        assert answer.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED

    virtual_time.run(run())
