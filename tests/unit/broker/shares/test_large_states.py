"""The load of a large state leaves other work its turns, and finds what changes in between."""

import asyncio
from typing import Any

import pytest

from tests.rigs import virtual_time
from tests.rigs.counted_calls import counted_calls
from tests.rigs.shares import GROUP, TOPIC, ShareRig
from tidelog.base.errors import ErrorCode
from tidelog.broker.handlers.shares.describe_share_partitions import handle
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.context import Context
from tidelog.broker.shares.large_states import BATCHES_A_TURN, STATES_A_TURN
from tidelog.shares.states import DeliveryState
from tidelog.wire.messages import read_share_group_state as read
from tidelog.wire.messages.describe_share_partitions import (
    DescribedSharePartition,
    DescribeSharePartitionsRequest,
    DescribeSharePartitionsTopic,
)

WAIT = {"max_wait_ms": 5_000}
CALLS_A_BATCH = 20
"""Of Python code, to load a state batch; more than it takes."""


def alternating(count: int, state: DeliveryState = DeliveryState.ACKNOWLEDGED) -> list[read.StateBatch]:
    """Every second record, from the second on."""
    return [
        read.StateBatch(first_offset=2 * n + 1, last_offset=2 * n + 1, delivery_state=state, delivery_count=1)
        for n in range(count)
    ]


def filled(count: int, *, partitions: int = 1, parts: int = 1 << 30) -> ShareRig:
    """The state has so many batches, and so many in a part; each partition has the records of it."""
    rig = ShareRig(partitions=partitions)
    for index in range(partitions):
        rig.produce(*[b""] * (2 * count + 1), index=index)
    rig.store.start_offset = 0
    rig.store.batches = alternating(count)
    rig.store.part_batches = parts
    return rig


async def most_calls_in_a_turn(work: "asyncio.Future[Any]") -> int:
    """The most calls of Python code in one turn of the loop until `work` is done, and others had the rest."""
    most = 0
    with counted_calls() as calls:
        before = 0
        while not work.done():
            await asyncio.sleep(0)
            now = calls()
            most, before = max(most, now - before), now
    return most


@pytest.mark.parametrize("parts", [1 << 30, 3_000], ids=["in one part", "in parts"])
def test_the_load_of_a_large_state_leaves_others_their_turns(parts: int) -> None:
    """(A load of 500,000 batches held up everything else for two seconds.)"""

    async def run() -> None:
        rig = filled(20_000, parts=parts)
        fetch = asyncio.ensure_future(rig.worker().take_ranges(max_records=2, share_acquire_mode=1, **WAIT))
        assert await most_calls_in_a_turn(fetch) < CALLS_A_BATCH * BATCHES_A_TURN
        assert fetch.result() == [(0, 0, 1), (2, 2, 1)]

    virtual_time.run(run())


def test_loads_of_many_partitions_share_the_turns() -> None:
    async def run() -> None:
        rig = filled(2 * BATCHES_A_TURN, partitions=5 * STATES_A_TURN)
        fetch = asyncio.ensure_future(rig.worker().take_ranges(max_records=1, share_acquire_mode=1, **WAIT))
        assert not fetch.done()
        limit = (STATES_A_TURN + 1) * CALLS_A_BATCH * BATCHES_A_TURN
        assert await most_calls_in_a_turn(fetch) < limit
        await asyncio.sleep(0.1)
        assert [led.is_loaded for led in rig.shares] == [True] * len(rig.partitions)

    virtual_time.run(run())


def test_a_look_at_a_large_state_leaves_others_their_turns() -> None:
    async def run() -> None:
        rig = filled(20_000)
        look = asyncio.ensure_future(described(rig))
        assert await most_calls_in_a_turn(look) < CALLS_A_BATCH * BATCHES_A_TURN
        [found] = look.result()
        assert (found.start_offset, found.done, found.readable_end) == (0, 20_000, 40_001)
        assert not len(rig.shares)

    virtual_time.run(run())


def test_a_partition_whose_coordinator_hangs_holds_up_no_other() -> None:
    async def run() -> None:
        rig = filled(10, partitions=STATES_A_TURN + 2)
        hanging = range(STATES_A_TURN + 1)
        rig.store.read_gates = {index: asyncio.Event() for index in hanging}
        fetch = asyncio.ensure_future(rig.worker().take_ranges(**WAIT))
        await asyncio.sleep(1)
        assert [led.place.partition for led in rig.shares if led.is_loaded] == [STATES_A_TURN + 1]
        assert fetch.done()
        for gate in rig.store.read_gates.values():
            gate.set()
        await asyncio.sleep(1)
        assert all(led.is_loaded for led in rig.shares)

    virtual_time.run(run())


def test_a_state_that_is_begun_anew_while_it_is_read_is_read_anew() -> None:
    async def run() -> None:
        rig = filled(10, parts=4)

        def begin_anew(asked: read.PartitionData) -> None:
            if asked.first_offset > 0 and not rig.store.state_epoch:
                rig.store.state_epoch, rig.store.start_offset, rig.store.batches = 2, 15, []

        rig.store.before_read = begin_anew
        assert await rig.worker().take_ranges(**WAIT) == [(15, 20, 1)]
        [led] = rig.shares
        assert led.share.state_epoch == 2

    virtual_time.run(run())


def test_a_lost_leadership_ends_the_load() -> None:
    async def run() -> None:
        rig = filled(1_000, parts=10)

        def lose(asked: read.PartitionData) -> None:
            if asked.first_offset > 100:
                rig.lose_leadership()

        rig.store.before_read = lose
        answer = await rig.worker().take(**WAIT)
        assert answer.responses[0].partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        await asyncio.sleep(10)
        assert rig.store.reads < 10
        assert not len(rig.shares)

    virtual_time.run(run())


def test_a_topic_that_is_deleted_during_the_load_ends_it() -> None:
    async def run() -> None:
        rig = filled(1_000, parts=10)
        rig.store.before_read = lambda asked: rig.delete_topic() if asked.first_offset > 100 else None
        answer = await rig.worker().take(**WAIT)
        assert answer.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        await asyncio.sleep(10)
        assert rig.store.reads < 10
        assert not len(rig.shares)

    virtual_time.run(run())


def test_records_that_retention_takes_during_the_load_are_not_delivered() -> None:
    async def run() -> None:
        rig = filled(100, parts=10)

        def delete(asked: read.PartitionData) -> None:
            if asked.first_offset > 100 and not rig.partition.log.start:
                rig.produce(b"next")
                rig.partition.log.delete_before(201)

        rig.store.before_read = delete
        assert await rig.worker().take_ranges(**WAIT) == [(201, 201, 1)]

    virtual_time.run(run())


def test_a_group_whose_last_member_left_during_the_load_is_loaded_anew() -> None:
    """Without members the group may be moved to another offset."""

    async def run() -> None:
        rig = filled(10 * BATCHES_A_TURN)
        is_read = asyncio.Event()
        rig.store.before_read = lambda _: is_read.set()
        anna = rig.worker("anna")
        fetch = asyncio.ensure_future(anna.take(**WAIT))
        await is_read.wait()
        anna.disconnect()
        rig.store.state_epoch, rig.store.start_offset, rig.store.batches = 2, 15, []
        [led] = rig.shares
        assert not led.is_loaded
        bert = rig.worker("bert")
        assert await bert.take_ranges(max_records=1, share_acquire_mode=1, **WAIT) == [(15, 15, 1)]
        [led] = rig.shares
        assert led.share.state_epoch == 2
        fetch.cancel()

    virtual_time.run(run())


async def described(rig: ShareRig) -> list[DescribedSharePartition]:
    context = Context(rig.services, ClientConnection("192.0.2.9", 1, "PLAINTEXT"), 0, "test")
    topics = [DescribeSharePartitionsTopic(name=TOPIC, partitions=[0])]
    answer = await handle(context, DescribeSharePartitionsRequest(group_id=GROUP, topics=topics))
    assert answer.error_code == 0
    return answer.partitions
