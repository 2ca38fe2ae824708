"""Scheduled records: held back until their time by the leader's clock, whatever clock and disk do."""

import asyncio
import errno
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec.structs import replace

from tests.rigs import virtual_time
from tests.rigs.dead_letters import KeepingStore
from tests.rigs.log import NOW_MS
from tests.rigs.shares import GROUP, TOPIC, TOPIC_ID, ShareRig, Worker
from tidelog.base.config.config import load
from tidelog.base.errors import ErrorCode
from tidelog.broker.shares.delivery import HELD_BACK_BYTES, LOOK_BYTES_MAX
from tidelog.broker.shares.led_share import DUE_LOOK_SECONDS
from tidelog.broker.shares.schedule import partition_schedule
from tidelog.broker.shares.schedule.schedule import Schedule
from tidelog.broker.shares.share_partitions import SharePartitions
from tidelog.metadata.image.entities import TopicImage
from tidelog.shares.schedule.due_times import DELAY_MS_MAX
from tidelog.shares.schedule.memory import ScheduleMemory
from tidelog.shares.schedule.run_file import NAME
from tidelog.storage.segment import batch_walk
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.compression import Codec
from tidelog.wire.record import Record, write_batch

WAIT = {"max_wait_ms": 500}
HOUR = 3600.0


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        await test()

    virtual_time.run(whole())


class Rig(ShareRig):
    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        self.store = KeepingStore()
        self.shares = self.services.shares = SharePartitions(
            self.clock, self.metadata, self.hosted, self.store
        )
        self.schedule = Schedule(self.shares, self.metadata)

    def lead_anew(self) -> None:
        self.shares.close()
        self.shares = self.services.shares = SharePartitions(
            self.clock, self.metadata, self.hosted, self.store
        )
        self.schedule = Schedule(self.shares, self.metadata)

    def topic(self, **configs: str) -> None:
        before = self.metadata.image
        topic = TopicImage(
            TOPIC,
            TOPIC_ID,
            before.topics[TOPIC].partitions,
            {name.replace("_", "."): value for name, value in configs.items()},
        )
        self.metadata.image = replace(before, topics={TOPIC: topic}, topics_by_id={TOPIC_ID: topic})

    def scheduled(self, *headers: dict[str, str], codec: Codec = Codec.NONE) -> None:
        """One batch, a record for each; produced now."""
        now_ms = self.clock.now_ms()
        records = [
            Record(n, now_ms, None, b"x", [(name, text.encode()) for name, text in one.items()])
            for n, one in enumerate(headers)
        ]
        self.append(write_batch(records, codec=codec))

    @property
    def share(self) -> Any:
        led = self.shares.loaded(GROUP, TOPIC_ID, 0)
        assert led is not None
        return led.share


def delay(seconds: float) -> dict[str, str]:
    return {"tidelog-delay": str(int(seconds * 1000))}


def at(rig: Rig, seconds: float) -> dict[str, str]:
    return {"tidelog-deliver-at": str(NOW_MS + int(seconds * 1000))}


async def times_of(rig: Rig, worker: Worker, count: int) -> list[tuple[float, int]]:
    """When each record came, as the worker takes them one by one and is done with each."""
    seen: list[tuple[float, int]] = []
    while len(seen) < count:
        for first, last, _ in await worker.take_ranges(max_wait_ms=300_000):
            seen += [(rig.clock.monotonic(), offset) for offset in range(first, last + 1)]
            assert await worker.done(first, last) is ErrorCode.NONE
    return seen


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_records_come_when_they_are_due_and_others_at_once(codec: Codec) -> None:
    async def test() -> None:
        rig = Rig()
        rig.scheduled(delay(10), {}, at(rig, 5), {"other": "1"}, codec=codec)
        seen = await times_of(rig, rig.worker(), 4)
        assert [offset for _, offset in seen] == [1, 3, 2, 0]
        for (came, _), due in zip(seen, [0, 0, 5, 10], strict=True):
            assert due <= came < due + 0.1
        await asyncio.sleep(1)
        assert rig.store.start_offset == 4

    run(test)


def test_a_topic_holds_every_record_back() -> None:
    async def test() -> None:
        rig = Rig()
        rig.topic(share_delivery_delay_ms="60000")
        rig.scheduled({}, delay(3), {})
        seen = await times_of(rig, rig.worker(), 3)
        assert [(round(came), offset) for came, offset in seen] == [(3, 1), (60, 0), (60, 2)]

    run(test)


def test_headers_are_not_looked_for_where_the_topic_says_so() -> None:
    async def test() -> None:
        rig = Rig()
        rig.topic(share_delivery_headers_enable="false")
        rig.scheduled(delay(1000))
        assert await rig.worker().take_ranges(**WAIT) == [(0, 0, 1)]

    run(test)


@pytest.mark.parametrize(
    "headers",
    [
        {"tidelog-deliver-at": "tomorrow"},
        {"tidelog-delay": "-5"},
        {"tidelog-delay": ""},
        {"tidelog-delay": str(100 * DELAY_MS_MAX)},
        {"tidelog-deliver-at": str(NOW_MS + 100 * DELAY_MS_MAX)},
        {"tidelog-deliver-at": "9" * 500},
    ],
)
def test_a_header_that_says_no_time_holds_nothing_back(
    headers: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        rig = Rig()
        rig.scheduled(headers, delay(10))
        with caplog.at_level(logging.WARNING, "tidelog.broker.shares"):
            assert await rig.worker().take_ranges(**WAIT) == [(0, 0, 1)]
        assert rig.schedule.bad_headers == 1
        assert "delivered without a delay" in caplog.text

    run(test)


def test_a_time_in_the_past_is_now() -> None:
    async def test() -> None:
        rig = Rig()
        rig.scheduled({"tidelog-deliver-at": "1"}, {"tidelog-delay": "0"})
        assert await rig.worker().take_ranges(**WAIT) == [(0, 1, 1)]
        assert rig.schedule.bad_headers == 0

    run(test)


def test_another_leader_holds_them_back_too() -> None:
    async def test() -> None:
        rig = Rig()
        rig.scheduled(delay(10), {}, delay(20))
        worker = rig.worker()
        assert await worker.take_ranges(**WAIT) == [(1, 1, 1)]
        await worker.done(1)
        await asyncio.sleep(5)
        rig.lead_anew()
        assert rig.schedule.memory.used_bytes == 0
        seen = await times_of(rig, rig.worker("bert"), 2)
        assert [(round(came), offset) for came, offset in seen] == [(10, 0), (20, 2)]

    run(test)


def test_a_clock_that_jumps_ahead_is_noticed() -> None:
    async def test() -> None:
        rig = Rig()
        rig.scheduled(delay(HOUR))
        waiting = asyncio.ensure_future(rig.worker().take_ranges(max_wait_ms=300_000))
        await asyncio.sleep(1)
        rig.clock.jumped_ms = 2 * int(HOUR) * 1000
        assert await waiting == [(0, 0, 1)]
        assert rig.clock.monotonic() <= DUE_LOOK_SECONDS + 2

    run(test)


@pytest.mark.parametrize("seconds", [100, 12, 6])
def test_a_clock_that_goes_back_holds_due_records_back_again(seconds: int) -> None:
    async def test() -> None:
        rig = Rig()
        rig.scheduled(delay(10), {})
        worker = rig.worker()
        assert await worker.take_ranges(**WAIT) == [(1, 1, 1)]
        await worker.done(1)
        await asyncio.sleep(15)  # due, and no member asks
        assert rig.share.scheduled == 0
        rig.clock.jumped_ms = -1000 * seconds
        assert await worker.take_ranges(**WAIT) == []
        assert rig.share.scheduled == 1
        [(came, _)] = await times_of(rig, worker, 1)
        assert came == pytest.approx(10 + seconds, abs=0.5)

    run(test)


def test_two_groups_share_one_index() -> None:
    async def test() -> None:
        rig = Rig()
        rig.scheduled(delay(10))
        first = rig.worker()
        assert await first.take_ranges(**WAIT) == []
        assert rig.shares.scheduled_due is not None
        assert rig.shares.scheduled_due(rig.shares.find(GROUP, TOPIC_ID, 0)) == NOW_MS + 10_000
        led = rig.shares.find("others", TOPIC_ID, 0)
        await asyncio.sleep(0.1)
        rig.schedule.in_batch(led, *_first_batch(rig))
        led.share.schedule(0, 0)
        assert len(rig.schedule) == 1
        await asyncio.sleep(11)
        assert rig.share.scheduled == 0
        assert led.share.scheduled == 0

    run(test)


def _first_batch(rig: Rig) -> tuple[Any, int, Any]:
    log = rig.partition.log
    read = log.read(0, 1 << 20, end=log.end)
    assert read is not None
    part = read.slice
    position, header = next(batch_walk.walk(part.file, part.position, part.position + part.length))
    return part.file, position, header


def test_the_last_drop_closes_the_index() -> None:
    async def test() -> None:
        rig = Rig()
        rig.scheduled(delay(10))
        await rig.worker().take_ranges(**WAIT)
        assert len(rig.schedule) == 1
        rig.lose_leadership()
        assert len(rig.schedule) == 0
        assert rig.schedule.memory.used_bytes == 0
        await asyncio.sleep(60)  # no timer is left

    run(test)


def test_a_change_of_the_topics_delay_holds_for_what_is_held_back() -> None:
    async def test() -> None:
        rig = Rig()
        rig.topic(share_delivery_delay_ms="3600000")
        rig.scheduled({}, {})
        worker = rig.worker()
        assert await worker.take_ranges(**WAIT) == []
        rig.topic(share_delivery_delay_ms="100000")
        seen = await times_of(rig, worker, 2)
        assert [round(came) for came, _ in seen] == [100, 100]

    run(test)


def test_the_times_of_records_that_retention_took_are_not_kept_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(partition_schedule, "STALE_MIN", 3)

    async def test() -> None:
        rig = Rig()
        rig.scheduled(*(delay(200 * HOUR + n) for n in range(6)))
        rig.scheduled(delay(100), delay(200))
        worker = rig.worker()
        assert await worker.take_ranges(**WAIT) == []
        assert len(rig.schedule) == 8
        rig.partition.log.delete_before(6)
        seen = await times_of(rig, worker, 1)
        assert [(round(came), offset) for came, offset in seen] == [(100, 6)]
        assert len(rig.schedule) == 1, "and not seven"
        seen = await times_of(rig, worker, 1)
        assert [(round(came), offset) for came, offset in seen] == [(200, 7)]

    run(test)


def test_many_scheduled_records_are_looked_through_in_turns() -> None:
    async def test() -> None:
        rig = Rig()
        count = 4 * LOOK_BYTES_MAX // HELD_BACK_BYTES
        for _ in range(count // 256):
            rig.scheduled(*[delay(HOUR)] * 256)
        rig.produce(b"now")
        turns = 0
        waiting = asyncio.ensure_future(rig.worker().take_ranges(max_bytes=50 << 20, **WAIT))
        marks = set()
        while not waiting.done():
            turns += 1
            led = rig.shares.loaded(GROUP, TOPIC_ID, 0)
            marks.add(0 if led is None else led.share.scheduled)
            await asyncio.sleep(0)
        assert await waiting == [(count, count, 1)]
        assert len(marks) >= 4
        assert rig.clock.monotonic() < 0.1  # without a wait for new records

    run(test)


def test_a_full_window_waits_for_what_is_scheduled() -> None:
    async def test() -> None:
        rig = Rig()
        rig.metadata.config = load(flags={"group.share.partition.max.window.records": "10000"})
        rig.scheduled(*[delay(60)] * 10_000)
        rig.produce(b"now")
        worker = rig.worker()
        assert await worker.take_ranges(**WAIT) == []
        rig.clock.jumped_ms = 60_000
        seen = await times_of(rig, worker, 10_001)
        assert [offset for _, offset in seen] == list(range(10_001))

    run(test)


def spread(rig: Rig, count: int) -> None:
    """Records that are due a millisecond after the other, from 10 s on: each has an entry of its own."""
    for first in range(0, count, 100):
        rig.scheduled(*[delay(10 + (first + n) / 1000) for n in range(100)])


@pytest.mark.parametrize("operation", ["", "write", "open", "read"])
def test_times_beyond_the_memory_are_in_a_file_and_no_error_makes_a_record_early(operation: str) -> None:
    async def test() -> None:
        rig = Rig(settings={"share.partition.max.record.locks": "20000"})
        rig.schedule.memory = ScheduleMemory(1 << 15)
        disk = rig.partition.log.files.disk
        assert isinstance(disk, MemoryDisk)
        if operation in {"write", "open"}:
            disk.fail(operation, NAME, error=errno.ENOSPC)
        count = 5_000
        spread(rig, count)
        worker = rig.worker()
        assert await worker.take_ranges(**WAIT) == []
        await asyncio.sleep(1)
        assert rig.share.scheduled == count
        assert rig.schedule.memory.used_bytes <= 1 << 15
        assert (rig.schedule.file_bytes > 0) == (operation in {"", "read"})
        if operation == "read":
            disk.fail(operation, NAME)
        seen: list[tuple[float, int]] = []
        while len(seen) < count:
            await asyncio.sleep(0.1)
            for first, last, _ in await worker.take_ranges(**WAIT):
                seen += [(rig.clock.monotonic(), offset) for offset in range(first, last + 1)]
            assert rig.clock.monotonic() < 60
        assert sorted(offset for _, offset in seen) == list(range(count))
        late = [came - 10 - offset / 1000 for came, offset in seen]
        assert min(late) > -1e-6
        assert max(late) < 5

    run(test)


def test_a_batch_that_cannot_be_read_is_not_delivered() -> None:
    async def test() -> None:
        rig = Rig()
        rig.scheduled(delay(10), {})
        worker = rig.worker()
        disk = rig.partition.log.files.disk
        assert isinstance(disk, MemoryDisk)
        disk.fail("read", ".log")
        answer = await worker.take(**WAIT)
        assert answer.responses[0].partitions[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
        disk.heal()
        assert await worker.take_ranges(**WAIT) == [(1, 1, 1)]

    run(test)
