"""Share coordinators at work: loads after a change of the leader, shared batches, deleted topics, pruning."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.rigs.share_states import GROUP, StateBroker, StateCluster
from tests.rigs.shares import TOPIC_ID
from tests.rigs.virtual_time import run
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.coordinators.runtime import served_partition
from tidelog.broker.coordinators.share_states import prune
from tidelog.shares.place import SharePlace
from tidelog.shares.state.requests import StateWrite
from tidelog.shares.state.settings import RECORD_BATCHES
from tidelog.shares.states import DeliveryState, StateBatch
from tidelog.wire.batch import iter_batches

NONE = ErrorCode.NONE


def in_cluster(test: Callable[[StateCluster], Awaitable[None]], **settings: str) -> None:
    async def main() -> None:
        cluster = StateCluster(settings={name.replace("_", "."): value for name, value in settings.items()})
        cluster.lead(1)
        await test(cluster)
        for broker in cluster.brokers.values():
            await broker.persister.close()
            await broker.runtime.close()

    run(main())


def batches_in(broker: StateBroker) -> list[int]:
    """The number of records in each batch of the log."""
    log = broker.partitions[0].log
    read = log.read(log.start, 1 << 30, end=log.end)
    return [] if read is None else [h.record_count for _, h in iter_batches(memoryview(read.slice.read()))]


def test_the_next_coordinator_knows_everything_and_the_old_nothing_any_more() -> None:
    async def test(cluster: StateCluster) -> None:
        old, new = cluster.brokers[1], cluster.brokers[2]
        assert await old.initialize(0, 1) == [NONE, NONE]
        await old.read(0, leader_epoch=5)
        assert await old.write(0, (3, 4, 2, 1), leader_epoch=5) is NONE
        new.copy()
        cluster.lead(2)
        assert await new.stored(0) == [(3, 4, 2, 1)]
        assert await new.write(0, (5, 5, 2, 1), leader_epoch=4) is ErrorCode.FENCED_LEADER_EPOCH
        assert not list(old.states.service)
        with pytest.raises(KafkaError) as refusal:
            old.states.summary(SharePlace(GROUP, TOPIC_ID, 0))
        assert refusal.value.code is ErrorCode.NOT_COORDINATOR

    in_cluster(test)


def test_writes_of_one_turn_share_a_batch() -> None:
    async def test(cluster: StateCluster) -> None:
        broker = cluster.brokers[1]
        await broker.initialize(*range(4))
        before = batches_in(broker)
        assert await asyncio.gather(*(broker.write(n, (1, 1, 2, 1)) for n in range(4))) == [NONE] * 4
        assert batches_in(broker) == [*before, 4]
        assert [await broker.stored(n) for n in range(4)] == [[(1, 1, 2, 1)]] * 4

    in_cluster(test)


def test_two_writes_of_one_partition_in_one_turn_see_each_other() -> None:
    async def test(cluster: StateCluster) -> None:
        broker = cluster.brokers[1]
        await broker.initialize(0)
        states, place = broker.states, SharePlace(GROUP, TOPIC_ID, 0)
        batch = StateBatch(1, 1, DeliveryState.ACKNOWLEDGED, 1)
        newer = states.write(place, StateWrite(1, -1, 0, [batch], sequence=9))
        older = states.write(place, StateWrite(1, -1, 0, [batch._replace(delivery_count=7)], sequence=8))
        assert isinstance(newer, asyncio.Future)
        assert isinstance(older, asyncio.Future)
        assert await newer is None
        refusal = await older
        assert isinstance(refusal, KafkaError)
        assert await broker.stored(0) == [(1, 1, 2, 1)]

    in_cluster(test)


def test_a_batch_of_many_writes_is_split_before_it_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served_partition, "GATHERED_BYTES_MAX", 250)

    async def test(cluster: StateCluster) -> None:
        broker = cluster.brokers[1]
        await broker.initialize(*range(6))
        before = len(batches_in(broker))
        writes = [broker.write(n, (1, 1, 2, 1)) for n in range(6)]
        assert await asyncio.gather(*writes) == [NONE] * 6
        assert sum(batches_in(broker)[before:]) == 6
        assert 1 < len(batches_in(broker)) - before < 6

    in_cluster(test)


def test_a_write_that_is_too_large_for_a_record_is_written_in_parts() -> None:
    async def test(cluster: StateCluster) -> None:
        broker = cluster.brokers[1]
        await broker.initialize(0)
        batches = [(2 * n, 2 * n, 2, 1) for n in range(2 * RECORD_BATCHES + 5)]
        assert await broker.write(0, *batches) is NONE
        assert await broker.stored(0) == batches
        assert batches_in(broker)[1:4] == [1, 1, 1]
        cluster.lead(1)
        assert await broker.stored(0) == batches

    in_cluster(test)


def test_a_deleted_topic_takes_its_states_along() -> None:
    async def test(cluster: StateCluster) -> None:
        broker = cluster.brokers[1]
        await broker.initialize(0, 1)
        [served] = broker.states.service
        assert len(served.shard) == 2
        cluster.delete_topic()
        assert len(served.shard) == 0
        cluster.lead(1)
        await asyncio.sleep(1)
        [served] = broker.states.service
        assert len(served.shard) == 0

    in_cluster(test)


def test_a_topic_that_was_deleted_during_the_load_takes_its_states_along() -> None:
    async def test(cluster: StateCluster) -> None:
        broker = cluster.brokers[1]
        await broker.initialize(0, 1)
        cluster.lead(1)
        assert broker.states.service.is_loading
        cluster.delete_topic()
        await asyncio.sleep(1)
        [served] = broker.states.service
        assert len(served.shard) == 0

    in_cluster(test)


def test_records_that_snapshots_replace_are_deleted_and_a_load_misses_nothing() -> None:
    async def test(cluster: StateCluster) -> None:
        broker = cluster.brokers[1]
        log = broker.partitions[0].log
        await broker.initialize(0, 1)
        for number in range(40):
            for index in (0, 1):
                assert await broker.write(index, (2 * number, 2 * number, 2, 1)) is NONE
        stored = await broker.stored(0)
        assert log.start == 0
        await asyncio.sleep(301)
        assert log.start > 40
        assert log.end - log.start < 60
        start = log.start
        cluster.lead(1)
        assert await broker.stored(0) == stored
        assert await broker.stored(1) == stored
        assert log.start == start

    in_cluster(test, share_coordinator_snapshot_update_records_per_snapshot="10")


def test_only_what_is_committed_is_deleted() -> None:
    async def test(cluster: StateCluster) -> None:
        broker = cluster.brokers[1]
        partition = broker.partitions[0]
        await broker.initialize(0)
        [served] = broker.states.service
        for number in range(12):
            await broker.write(0, (2 * number, 2 * number, 2, 1))
        await asyncio.sleep(0)
        assert served.shard.needed_from > 0
        uncommitted: list[Callable[..., None]] = []

        def when_committed(_: object, offset: int, done: Callable[..., None]) -> bool:
            uncommitted.append(done)
            return False

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(partition), "when_committed", when_committed)
            prune(served)
        assert partition.log.start == 0
        [done] = uncommitted
        done(None)
        assert partition.log.start == served.shard.needed_from

    in_cluster(test, share_coordinator_snapshot_update_records_per_snapshot="10")


def test_a_broker_without_states_has_no_timer() -> None:
    async def main() -> None:
        cluster = StateCluster()
        broker = cluster.brokers[1]
        assert not broker.states.service.has_topic
        cluster.lead(1)
        [served] = broker.states.service
        assert served.shard.next_deadline is None
        await broker.runtime.close()
        assert broker.states._prune_timer is None

    run(main())
