"""The persister: which coordinator it asks, what shares a request, and what it tries again."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.rigs.share_states import GROUP, StateCluster
from tests.rigs.shares import TOPIC_ID
from tests.rigs.virtual_time import run
from tidelog.base.errors import ErrorCode
from tidelog.broker.shares import coordinator_apis, outbox, persister
from tidelog.broker.turns import CHARS_PER_PIECE
from tidelog.shares.place import SharePlace, coordinator_key
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages import delete_share_group_state as delete
from tidelog.wire.messages import read_share_group_state_summary as summary
from tidelog.wire.messages import write_share_group_state as write

NONE = ErrorCode.NONE


def in_cluster(test: Callable[[StateCluster], Awaitable[None]], *leaders: int) -> None:
    async def main() -> None:
        cluster = StateCluster(state_partitions=max(1, len(leaders)))
        if leaders:
            cluster.lead(*leaders)
        await test(cluster)
        for broker in cluster.brokers.values():
            await broker.persister.close()
            await broker.runtime.close()

    run(main())


def test_the_coordinator_on_this_broker_is_called_without_a_network() -> None:
    async def test(cluster: StateCluster) -> None:
        broker = cluster.brokers[1]
        assert await broker.initialize(0, 1) == [NONE, NONE]
        assert await broker.write(0, (3, 4, 2, 1)) is NONE
        assert await broker.stored(0) == [(3, 4, 2, 1)]
        assert cluster.calls == []

    in_cluster(test, 1)


def test_another_broker_is_asked_by_a_request() -> None:
    async def test(cluster: StateCluster) -> None:
        broker = cluster.brokers[1]
        assert await broker.initialize(0, 1, start=-1) == [NONE, NONE]
        assert await broker.write(0, (3, 4, 2, 1)) is NONE
        assert await broker.stored(0) == [(3, 4, 2, 1)]
        assert {call.target for call in cluster.calls} == {2}
        assert (await broker.read(5)).error_code == ErrorCode.INVALID_REQUEST

    in_cluster(test, 2)


def test_a_request_is_split_by_coordinator_and_its_results_keep_their_order() -> None:
    async def test(cluster: StateCluster) -> None:
        broker = cluster.brokers[1]
        homes = [cluster.home_of(index) for index in range(8)]
        assert set(homes) == {0, 1}, "the groups of this test need both coordinators"
        assert await broker.initialize(*range(8)) == [NONE] * 8
        [call] = cluster.calls
        assert call.partitions == [index for index in range(8) if homes[index] == 1]
        asked = [summary.PartitionData(partition=index) for index in (7, 0, 3)]
        response = await broker.persister.read_summary(
            summary.ReadShareGroupStateSummaryRequest(
                group_id=GROUP, topics=[summary.ReadStateSummaryData(topic_id=TOPIC_ID, partitions=asked)]
            )
        )
        assert [one.partition for one in response.results[0].partitions] == [7, 0, 3]
        assert {one.state_epoch for one in response.results[0].partitions} == {1}

    in_cluster(test, 1, 2)


def test_partitions_of_a_group_with_a_long_id_are_looked_for_in_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Finding the coordinator of one costs as much as the id is long."""
    looked_for, most = 0, 0

    def counted(place: SharePlace) -> str:
        nonlocal looked_for
        looked_for += 1
        return coordinator_key(place)

    monkeypatch.setattr(persister, "coordinator_key", counted)

    async def test(cluster: StateCluster) -> None:
        nonlocal looked_for, most
        asked = [summary.PartitionData(partition=index) for index in range(8)]
        request = summary.ReadShareGroupStateSummaryRequest(
            group_id="g" * CHARS_PER_PIECE,
            topics=[summary.ReadStateSummaryData(topic_id=TOPIC_ID, partitions=asked)],
        )
        task = asyncio.ensure_future(cluster.brokers[1].persister.read_summary(request))
        while not task.done():
            looked_for = 0
            await asyncio.sleep(0)
            most = max(most, looked_for)
        assert [one.partition for one in task.result().results[0].partitions] == list(range(8))

    in_cluster(test, 1)
    assert most == 1


def test_writes_of_one_turn_share_a_request() -> None:
    async def test(cluster: StateCluster) -> None:
        broker = cluster.brokers[1]
        await broker.initialize(*range(8))
        cluster.calls.clear()
        assert await asyncio.gather(*(broker.write(n, (1, 1, 2, 1)) for n in range(8))) == [NONE] * 8
        [call] = cluster.calls
        assert sorted(call.partitions) == list(range(8))

    in_cluster(test, 2)


def test_requests_stay_below_the_limits_of_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(persister, "REQUEST_BATCHES", 10)
    monkeypatch.setattr(outbox, "REQUEST_BATCHES", 10)
    monkeypatch.setattr(coordinator_apis, "READ_BATCHES", 10)

    async def test(cluster: StateCluster) -> None:
        broker = cluster.brokers[1]
        await broker.initialize(0, 1)
        cluster.calls.clear()
        batches = [(2000 * n, 2000 * n, 2, 1) for n in range(35)]
        assert await broker.write(0, *batches) is NONE
        sizes = [len(call.request.topics[0].partitions[0].state_batches) for call in cluster.calls]
        assert sizes == [10, 10, 10, 5]
        cluster.calls.clear()
        assert await broker.stored(0) == batches
        assert len(cluster.calls) > 2

    in_cluster(test, 2)


def test_full_messages_can_be_sent() -> None:
    """As many batches as one request and one response hold: the codec refuses messages that are too large."""

    async def test(cluster: StateCluster) -> None:
        broker = cluster.brokers[1]
        await broker.initialize(0)
        count = coordinator_apis.READ_BATCHES + 4000
        batches = [(2 * n, 2 * n, 2, 1) for n in range(count)]
        assert await broker.write(0, *batches) is NONE
        assert await broker.stored(0) == batches

    in_cluster(test, 2)


def test_the_topic_is_created_with_the_first_request() -> None:
    async def test(cluster: StateCluster) -> None:
        assert await cluster.brokers[1].initialize(0) == [NONE]
        assert cluster.brokers[1].states.service.has_topic

    in_cluster(test)


def test_a_coordinator_that_loads_or_moves_is_asked_again() -> None:
    async def test(cluster: StateCluster) -> None:
        broker = cluster.brokers[1]
        await broker.initialize(0)
        cluster.lead(1)
        assert broker.states.service.is_loading
        assert await broker.write(0, (1, 1, 2, 1)) is NONE
        cluster.lead(-1)
        writing = asyncio.create_task(broker.write(0, (3, 3, 2, 1)))
        await asyncio.sleep(2)
        assert not writing.done()
        cluster.lead(1)
        assert await writing is NONE
        assert await broker.stored(0) == [(1, 1, 2, 1), (3, 3, 2, 1)]

    in_cluster(test, 1)


def test_a_broker_that_does_not_answer_is_asked_again_and_a_late_request_has_no_effect() -> None:
    async def test(cluster: StateCluster) -> None:
        broker = cluster.brokers[1]
        await broker.initialize(0)
        cluster.calls.clear()
        cluster.failures = [TimeoutError(), ConnectionResetError("reset")]
        assert await broker.write(0, (1, 1, 2, 1)) is NONE
        writes = [call for call in cluster.calls if call.key is ApiKey.WRITE_SHARE_GROUP_STATE]
        sequences = [call.request.topics[0].partitions[0].write_sequence for call in writes]
        assert len(sequences) == 3
        assert sequences == sorted(set(sequences)), "each try has a number of its own"
        assert await broker.write(0, (1, 1, 4, 2)) is NONE
        first: write.WriteShareGroupStateRequest = writes[0].request
        late = await broker._call(2, writes[0].key, 1, first, timeout=1.0, lane="")
        assert late.results[0].partitions[0].error_code == ErrorCode.INVALID_REQUEST
        assert await broker.stored(0) == [(1, 1, 4, 2)]

    in_cluster(test, 2)


def test_the_next_leader_goes_on_with_higher_sequences() -> None:
    async def test(cluster: StateCluster) -> None:
        before, after = cluster.brokers[1], cluster.brokers[2]
        await before.initialize(0)
        for _ in range(5):
            assert await before.write(0, (1, 1, 2, 1)) is NONE
        await after.read(0, leader_epoch=1)
        assert await after.write(0, (2, 2, 2, 1), leader_epoch=1) is NONE

    in_cluster(test, 2)


def test_it_does_not_try_for_ever() -> None:
    async def test(cluster: StateCluster) -> None:
        broker = cluster.brokers[1]
        began = asyncio.get_running_loop().time()
        assert await broker.write(0, (1, 1, 2, 1)) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert 8 < asyncio.get_running_loop().time() - began <= persister.RETRY_SECONDS_MAX

    in_cluster(test, -1)


def test_refusals_are_not_tried_again() -> None:
    async def test(cluster: StateCluster) -> None:
        broker = cluster.brokers[1]
        await broker.initialize(0)
        await broker.read(0, leader_epoch=5)
        cluster.calls.clear()
        assert await broker.write(0, (1, 1, 2, 1), leader_epoch=4) is ErrorCode.FENCED_LEADER_EPOCH
        assert len(cluster.calls) == 1

    in_cluster(test, 2)


def test_a_partition_that_the_coordinator_does_not_know_yet_is_tried_again() -> None:
    async def test(cluster: StateCluster) -> None:
        broker, coordinator = cluster.brokers[1], cluster.brokers[2]
        image = coordinator.image
        internal = {name: topic for name, topic in image.topics.items() if name.startswith("__")}
        coordinator.image = type(image)(brokers=image.brokers, topics=internal)
        initializing = asyncio.create_task(broker.initialize(0))
        await asyncio.sleep(1)
        assert not initializing.done()
        coordinator.image = image
        assert await initializing == [NONE]

    in_cluster(test, 2)


def test_deleted_is_gone() -> None:
    async def test(cluster: StateCluster) -> None:
        broker = cluster.brokers[1]
        await broker.initialize(0)
        response = await broker.persister.delete(
            delete.DeleteShareGroupStateRequest(
                group_id=GROUP,
                topics=[
                    delete.DeleteStateData(topic_id=TOPIC_ID, partitions=[delete.PartitionData(partition=0)])
                ],
            )
        )
        assert response.results[0].partitions[0].error_code == NONE
        assert (await broker.read(0)).error_code == ErrorCode.INVALID_REQUEST

    in_cluster(test, 2)


def test_a_broker_that_stops_answers_what_is_under_way() -> None:
    async def test(cluster: StateCluster) -> None:
        broker = cluster.brokers[1]
        await broker.initialize(0)
        writing = asyncio.create_task(broker.write(0, (1, 1, 2, 1)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await broker.persister.close()
        assert await writing is ErrorCode.COORDINATOR_NOT_AVAILABLE

    in_cluster(test, 2)
