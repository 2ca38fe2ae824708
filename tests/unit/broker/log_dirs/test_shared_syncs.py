"""Logs that wait for a sync together share one of the journal, and those that cannot are synced alone."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.rigs.partition import sole_leader
from tests.rigs.virtual_time import run
from tidelog.base.errors import ErrorCode, KafkaError, TidelogError
from tidelog.broker.log_dirs import flusher
from tidelog.broker.log_dirs.flusher import BUSY_SECONDS, Flusher
from tidelog.broker.log_dirs.shared_syncs import ALONE_TURNS, BYTES_MAX
from tidelog.replication.partition import Durability, Partition
from tidelog.storage.journal.journal import SEGMENTS_MAX, Journal
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.record import Record, write_batch

SEGMENT = 512 << 10


class Rig:
    """A flusher whose jobs run when the test says so, and partitions with synced files."""

    def __init__(self, partitions: int = 3, segment: int = SEGMENT) -> None:
        self.disk = MemoryDisk()
        self.jobs: list[tuple[Callable[[], Any], asyncio.Future[Any]]] = []
        self.is_busy = False
        self.flusher = Flusher(self.run)
        self.journal = Journal(
            self.disk, "/data", SEGMENTS_MAX * segment, new_id=lambda: bytes(16), on_begin=lambda _: None
        )
        self.disk.make_dirs("/data")
        self.journal.created(self.journal.create()())
        self.partitions = [self.partition(number) for number in range(partitions)]
        self.done: list[KafkaError | None] = []

    def run(self, job: Callable[[], Any]) -> "asyncio.Future[Any]":
        if self.is_busy:
            raise TidelogError("too many jobs wait")
        future = asyncio.get_running_loop().create_future()
        self.jobs.append((job, future))
        return future

    def partition(self, number: int) -> Partition:
        log = PartitionLog.open(self.disk, f"/data/t-{number}", LogConfig(), now_ms=0)
        log.journal = self.journal
        found = sole_leader(log, topic="t", index=number, on_unsynced=self.flusher.request)
        flush = log.begin_flush()
        assert flush is not None
        flush.run()
        log.finish_flush(flush)
        return found

    def produce(self, *numbers: int, size: int = 1) -> None:
        for number in numbers:
            batch = memoryview(write_batch([Record(0, 0, None, bytes(size), [])]))
            to = self.partitions[number]
            at = to.produce(batch, all_replicas=True, now_ms=0).committed_at
            to.when_committed(at, self.done.append)

    async def turns(self) -> None:
        for _ in range(12):
            await asyncio.sleep(0)

    async def finish(self) -> None:
        jobs, self.jobs = self.jobs, []
        for job, future in jobs:
            future.set_result(job())
        await self.turns()

    def kinds(self) -> list[str]:
        return sorted(type(getattr(job, "__self__", None)).__name__ for job, _ in self.jobs)


def test_logs_that_wait_together_share_one_sync_and_their_own_files_stay_unsynced() -> None:
    async def main() -> None:
        rig = Rig()
        rig.produce(0, 1, 2, 0)
        await rig.turns()
        assert rig.kinds() == ["JournalWrite"]
        syncs = rig.disk.operations
        await rig.finish()
        assert rig.disk.operations == syncs + 2, "one write, one sync"
        assert rig.done == [None] * 4
        assert [one.high_watermark for one in rig.partitions] == [2, 1, 1]
        assert [(one.log.synced_end, one.log.recovery_point) for one in rig.partitions] == [
            (2, 0),
            (1, 0),
            (1, 0),
        ]
        await rig.flusher.drain()

    run(main())


def test_a_log_that_stays_alone_is_synced_in_its_own_file() -> None:
    async def main() -> None:
        rig = Rig()
        kinds = []
        for _ in range(ALONE_TURNS + 2):
            rig.produce(0)
            await rig.turns()
            kinds += rig.kinds()
            await rig.finish()
        assert kinds == ["JournalWrite"] * ALONE_TURNS + ["Flush"] * 2

    run(main())


def test_fewer_logs_than_the_setting_asks_for_are_synced_in_their_own_files() -> None:
    async def main() -> None:
        rig = Rig()
        rig.journal.logs_min = 3
        kinds = []
        for together in ((0,), (0, 1), (0, 1, 2)):
            rig.produce(*together)
            await rig.turns()
            kinds.append(rig.kinds())
            await rig.finish()
        assert kinds == [["Flush"], ["Flush", "Flush"], ["JournalWrite"]]
        await rig.flusher.drain()

    run(main())


def test_new_files_many_bytes_and_other_durability_are_synced_alone() -> None:
    async def main() -> None:
        rig = Rig(4)
        rig.produce(0)
        rig.partitions[0].log.roll(0)
        rig.produce(1, size=BYTES_MAX)
        rig.partitions[2].sync.durability = Durability.INTERVAL
        rig.produce(2)
        rig.flusher.request(rig.partitions[2])
        rig.produce(3)
        await rig.turns()
        assert rig.kinds() == ["Flush"] * 3 + ["JournalWrite"]
        await rig.finish()
        assert all(one.log.synced_end == one.log.end for one in rig.partitions)

    run(main())


def test_logs_that_share_a_sync_leave_room_for_those_that_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flusher, "SYNCS_MAX", 2)

    async def main() -> None:
        rig = Rig(4)
        rig.produce(0, 1, 2)
        await rig.turns()
        assert rig.kinds() == ["JournalWrite"]
        rig.partitions[3].sync.durability = Durability.INTERVAL
        rig.produce(3)
        rig.flusher.request(rig.partitions[3])
        await rig.turns()
        assert rig.kinds() == ["Flush", "JournalWrite"]
        await rig.finish()
        await rig.flusher.drain()

    run(main())


def test_a_journal_that_fails_leaves_each_log_to_its_own_file() -> None:
    async def main() -> None:
        rig = Rig()
        rig.produce(0, 1)
        await rig.turns()
        rig.disk.fail("sync", "tidelog-journal")
        await rig.finish()
        assert rig.done == []
        assert rig.kinds() == ["Flush", "Flush"]
        await rig.finish()
        assert rig.done == [None, None]
        rig.produce(0, 1)
        await rig.turns()
        assert rig.kinds() == ["Flush", "Flush"]
        await rig.finish()
        await rig.flusher.drain()

    run(main())


def test_a_journal_that_begins_anew_is_shared_again() -> None:
    """No request is needed for that: the logs that it had entries of are synced by themselves."""

    async def main() -> None:
        rig = Rig()
        rig.produce(0, 1, 2)
        await rig.turns()
        await rig.finish()
        rig.produce(0, 1)
        await rig.turns()
        rig.disk.fail("sync", "tidelog-journal")
        await rig.finish()
        rig.disk.heal()
        assert not rig.journal.is_unneeded
        while rig.jobs:
            await rig.finish()
        assert rig.journal.is_unneeded
        assert [one.log.recovery_point for one in rig.partitions] == [2, 2, 1]
        rig.journal.begin_anew()
        rig.journal.created(rig.journal.create()())
        rig.produce(0, 1, 2)
        await rig.turns()
        assert rig.kinds() == ["JournalWrite"]
        await rig.finish()
        assert len(rig.done) == 8
        await rig.flusher.drain()

    run(main())


def test_threads_that_are_busy_delay_a_shared_sync() -> None:
    async def main() -> None:
        rig = Rig()
        rig.is_busy = True
        rig.produce(0, 1)
        await asyncio.sleep(BUSY_SECONDS * 2.5)
        rig.is_busy = False
        await asyncio.sleep(BUSY_SECONDS)
        assert rig.kinds() == ["JournalWrite"]
        await rig.finish()
        assert rig.done == [None, None]
        await rig.flusher.drain()

    run(main())


def test_a_full_segment_of_the_journal_has_its_logs_synced_a_few_at_a_time() -> None:
    async def main() -> None:
        rig = Rig(5, segment=2048)
        for _ in range(60):
            rig.produce(*range(5))
            await rig.turns()
            while rig.jobs:
                assert rig.kinds().count("Flush") <= 5
                await rig.finish()
        assert len(rig.done) == 300
        assert rig.journal.next_sequence > 3 * SEGMENTS_MAX, "it went round"
        assert min(one.log.recovery_point for one in rig.partitions) > 0
        await rig.flusher.drain()

    run(main())


def test_a_partition_that_is_removed_holds_up_nothing() -> None:
    async def main() -> None:
        rig = Rig()
        rig.produce(0, 1)
        await rig.turns()
        rig.produce(0, 1)
        rig.flusher.forget(rig.partitions[0])
        await rig.finish()
        await rig.finish()
        assert rig.partitions[1].high_watermark == 2
        await rig.flusher.drain()

    run(main())


def test_the_log_of_a_deleted_topic_asks_for_no_sync_after_a_shared_one() -> None:
    async def main() -> None:
        rig = Rig()
        rig.produce(0, 1)
        await rig.turns()
        rig.produce(0)
        orders = rig.partitions[0]
        orders.leave(KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        orders.log.close(clean=False)
        rig.flusher.forget(orders)
        rig.disk.rename("/data/t-0", "/data/t-0.x-delete")
        await rig.finish()
        assert (rig.kinds(), orders.log.offline) == ([], None)
        await rig.flusher.drain()

    run(main())


def test_a_truncation_while_a_shared_sync_is_under_way_voids_it() -> None:
    async def main() -> None:
        rig = Rig()
        rig.produce(0, 1)
        await rig.turns()
        log = rig.partitions[0].log
        log.truncate_to(0)
        assert not rig.journal.mentions("t-0")
        await rig.finish()
        assert (log.end, log.synced_end, log.recovery_point) == (0, 0, 0)
        assert rig.partitions[1].high_watermark == 1

    run(main())
