"""Where a group begins, and what it finds when its state is loaded."""

import asyncio

import pytest

from tests.rigs import virtual_time
from tests.rigs.log import NOW_MS
from tests.rigs.shares import ShareRig
from tidelog.base.errors import ErrorCode
from tidelog.broker.shares.start_offset import first_offset
from tidelog.shares.states import DeliveryState
from tidelog.wire.messages import read_share_group_state as read
from tidelog.wire.record import Record, write_batch

WAIT = {"max_wait_ms": 500}


def test_a_new_group_begins_at_the_end_and_stays_there() -> None:
    async def run() -> None:
        rig = ShareRig(settings={"share.auto.offset.reset": "latest"})
        rig.produce(b"old")
        anna = rig.worker()
        waiting = asyncio.ensure_future(anna.take_ranges(**WAIT))
        await asyncio.sleep(0.1)
        assert rig.store.start_offset == 1  # stored before the first record is delivered
        rig.produce(b"new")
        assert await waiting == [(1, 1, 1)]
        anna.disconnect()
        await asyncio.sleep(0.1)
        rig.produce(b"newer")
        assert await rig.worker("bert").take_ranges(**WAIT) == [(1, 2, 1)]

    virtual_time.run(run())


@pytest.mark.parametrize(
    ("reset", "offset"),
    [
        ("earliest", 0),
        ("latest", 3),
        ("by_duration:PT1H", 1),
        ("by_duration:PT1S", 3),
        ("by_duration:P9999999D", 0),
    ],
)
def test_where_a_group_begins(reset: str, offset: int) -> None:
    rig = ShareRig()
    for minutes in (90, 30, 20):
        rig.append(write_batch([Record(0, NOW_MS - minutes * 60_000, None, b"x", [])]))
    assert first_offset(rig.partition, reset, NOW_MS) == offset


def test_a_load_waits_for_the_coordinator() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"a")
        rig.store.errors = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 2
        assert await rig.worker().take_ranges(max_wait_ms=5_000) == [(0, 0, 1)]
        assert rig.store.reads == 3

    virtual_time.run(run())


def test_a_group_without_state_is_refused() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.store.errors = [ErrorCode.GROUP_ID_NOT_FOUND]
        answer = await rig.worker().take(max_wait_ms=5_000)
        assert answer.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        assert rig.clock.monotonic() < 1

    virtual_time.run(run())


def test_a_loaded_state_is_kept_to() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(*[b"x"] * 10)
        rig.store.start_offset = 2
        rig.store.batches = [
            read.StateBatch(
                first_offset=3, last_offset=4, delivery_state=DeliveryState.ACKNOWLEDGED, delivery_count=1
            ),
            read.StateBatch(
                first_offset=5, last_offset=5, delivery_state=DeliveryState.AVAILABLE, delivery_count=1
            ),
        ]
        assert await rig.worker().take_ranges(**WAIT) == [(2, 2, 1), (5, 5, 2), (6, 9, 1)]

    virtual_time.run(run())


def test_a_group_beyond_the_end_of_a_truncated_log_gets_what_comes() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"a")
        rig.store.start_offset = 5
        anna = rig.worker()
        waiting = asyncio.ensure_future(anna.take_ranges(**WAIT))
        await asyncio.sleep(0.1)
        rig.produce(b"b")
        assert await waiting == [(1, 1, 1)]
        [truncated] = rig.store.writes  # or the next leader would go on at 5
        assert (truncated.start_offset, truncated.log_end) == (1, 1)

    virtual_time.run(run())


def test_a_load_that_another_has_replaced_writes_nothing_more() -> None:
    """The group was without members meanwhile, and what the first load knows may be outdated."""

    async def run() -> None:
        rig = ShareRig(settings={"share.auto.offset.reset": "earliest"})
        rig.produce(b"a")
        rig.store.gate = asyncio.Event()
        anna = rig.worker("anna")
        waiting = asyncio.ensure_future(anna.take_ranges(**WAIT))
        await asyncio.sleep(0.1)
        anna.disconnect()
        again = asyncio.ensure_future(rig.worker("bert").take_ranges(max_wait_ms=5_000))
        await asyncio.sleep(0.1)
        rig.store.gate.set()
        assert await again == [(0, 0, 1)]
        assert len(rig.store.writes) == 1
        await asyncio.wait([waiting])

    virtual_time.run(run())
