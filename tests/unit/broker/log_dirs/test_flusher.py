import asyncio
import errno
from collections.abc import Callable
from typing import Any

import pytest

from tests.rigs.partition import sole_leader
from tests.rigs.virtual_time import run
from tidelog.base.errors import ErrorCode, KafkaError, TidelogError
from tidelog.broker.log_dirs.flusher import BUSY_SECONDS, QUIET_SYNCS_MAX, SYNCS_MAX, Flusher
from tidelog.replication.partition import Partition
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.record import Record, write_batch


class Threads:
    """Jobs that run when the test says so."""

    def __init__(self) -> None:
        self.jobs: list[tuple[Callable[[], Any], asyncio.Future[Any]]] = []

    def run(self, job: Callable[[], Any]) -> "asyncio.Future[Any]":
        future = asyncio.get_running_loop().create_future()
        self.jobs.append((job, future))
        return future

    async def finish(self, count: int = 1) -> None:
        for _ in range(count):
            job, future = self.jobs.pop(0)
            future.set_result(job())
        await turns()


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def partition(disk: MemoryDisk, flusher: Flusher, number: int = 0) -> Partition:
    log = PartitionLog.open(disk, f"/data/orders-{number}", LogConfig(), now_ms=0)
    return sole_leader(log, index=number, on_unsynced=flusher.request)


def produce(to: Partition) -> int:
    batch = write_batch([Record(0, 0, None, b"x", [])])
    return to.produce(memoryview(batch), all_replicas=True, now_ms=0).committed_at


def test_appends_that_come_during_a_sync_share_the_next_one() -> None:
    async def main() -> None:
        threads = Threads()
        flusher = Flusher(threads.run)
        orders = partition(MemoryDisk(), flusher)
        done: list[KafkaError | None] = []
        orders.when_committed(produce(orders), done.append)
        await turns()
        assert len(threads.jobs) == 1
        for _ in range(100):
            orders.when_committed(produce(orders), done.append)
        await turns()
        assert len(threads.jobs) == 1, "one sync of a log at a time"
        await threads.finish()
        assert done == [None]
        assert len(threads.jobs) == 1, "and one for all who came meanwhile"
        await threads.finish()
        assert done == [None] * 101
        await flusher.drain()

    run(main())


def test_a_failed_sync_fails_all_waiting_requests_and_is_never_retried() -> None:
    async def main() -> None:
        threads = Threads()
        flusher = Flusher(threads.run)
        disk = MemoryDisk()
        orders = partition(disk, flusher)
        done: list[KafkaError | None] = []
        orders.when_committed(produce(orders), done.append)
        await turns()
        disk.fail("sync", ".log")
        await threads.finish()
        assert [error.code for error in done if error] == [ErrorCode.KAFKA_STORAGE_ERROR]
        assert orders.high_watermark == 0
        assert threads.jobs == []
        await flusher.drain()

    run(main())


def test_the_number_of_syncs_under_way_is_bounded() -> None:
    async def main() -> None:
        threads = Threads()
        flusher = Flusher(threads.run)
        disk = MemoryDisk()
        partitions = [partition(disk, flusher, number) for number in range(SYNCS_MAX + 10)]
        for each in partitions:
            produce(each)
        await turns()
        assert len(threads.jobs) == SYNCS_MAX
        while threads.jobs:
            await threads.finish()
        assert all(each.high_watermark == 1 for each in partitions)
        await flusher.drain()

    run(main())


def test_threads_that_are_busy_delay_a_sync_and_lose_nobody() -> None:
    async def main() -> None:
        threads = Threads()
        is_busy = True

        def run_in_thread(job: Callable[[], Any]) -> "asyncio.Future[Any]":
            if is_busy:
                raise TidelogError("too many jobs wait")
            return threads.run(job)

        flusher = Flusher(run_in_thread)
        disk = MemoryDisk()
        orders, others = partition(disk, flusher), partition(disk, flusher, 1)
        done: list[KafkaError | None] = []
        orders.when_committed(produce(orders), done.append)
        others.when_committed(produce(others), done.append)
        await asyncio.sleep(1)
        assert done == []
        is_busy = False
        await asyncio.sleep(1)
        await threads.finish(2)
        assert done == [None, None]
        await flusher.drain()

    run(main())


def test_the_old_log_of_a_partition_that_moved_fails_nobody() -> None:
    async def main() -> None:
        threads = Threads()
        flusher = Flusher(threads.run)
        disk = MemoryDisk()
        orders = partition(disk, flusher)
        produce(orders)
        await turns()
        orders.log = PartitionLog.open(disk, "/more/orders-0", LogConfig(), now_ms=0)
        orders.log.truncate_fully_at(1)
        orders.advance()
        done: list[KafkaError | None] = []
        orders.when_committed(produce(orders), done.append)
        disk.fail("sync", "/data")
        await threads.finish()
        assert done == [], "what became of the old log does not matter"
        await threads.finish()
        assert done == [None]
        await flusher.drain()

    run(main())


def test_a_segment_that_was_synced_for_good_is_worth_a_checkpoint_and_newest_batches_are_not() -> None:
    async def main() -> None:
        threads = Threads()
        flusher = Flusher(threads.run)
        orders = partition(MemoryDisk(), flusher)

        async def sync() -> bool:
            produce(orders)
            flusher.request(orders)
            await turns()
            await threads.finish()
            sealed, flusher.has_sealed = flusher.has_sealed, False
            return sealed

        assert not await sync(), "the first segment is new, and none is sealed"
        assert not await sync()
        orders.log.roll(0)
        assert await sync()
        assert not await sync()

    run(main())


def test_records_do_not_wait_behind_a_thousand_new_logs() -> None:
    async def main() -> None:
        threads = Threads()
        flusher = Flusher(threads.run)
        disk = MemoryDisk()
        for number in range(1, 1000):
            flusher.request(partition(disk, flusher, number))  # nothing in them but the names of their files
        await turns()
        assert len(threads.jobs) == QUIET_SYNCS_MAX
        orders = partition(disk, flusher)
        done: list[KafkaError | None] = []
        orders.when_committed(produce(orders), done.append)
        await turns()
        await threads.finish(QUIET_SYNCS_MAX + 1)
        assert done == [None]
        while threads.jobs:
            await threads.finish()
        await flusher.drain()

    run(main())


def test_logs_that_need_no_sync_do_not_hold_up_those_behind_them() -> None:
    async def main() -> None:
        threads = Threads()
        flusher = Flusher(threads.run)
        disk = MemoryDisk()
        for number in range(QUIET_SYNCS_MAX + 1):
            quiet = partition(disk, flusher, number)
            flush = quiet.log.begin_flush()
            assert flush is not None
            flush.run()
            quiet.log.finish_flush(flush)
            flusher.request(quiet)
        await asyncio.wait_for(flusher.drain(), 1.0)
        assert not threads.jobs

    run(main())


@pytest.mark.parametrize("is_created_again", [False, True])
def test_the_log_of_a_deleted_topic_leaves_the_files_of_the_next_one_alone(
    is_created_again: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        threads, disk = Threads(), MemoryDisk()
        flusher = Flusher(threads.run)
        orders = partition(disk, flusher)
        produce(orders)
        await turns()
        produce(orders)  # for the sync after the one that is under way
        orders.log.leader_epochs.changed = True
        orders.leave(KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        orders.log.close(clean=False)
        flusher.forget(orders)
        disk.rename("/data/orders-0", "/data/orders-0.x-delete")
        if is_created_again:
            PartitionLog.open(disk, "/data/orders-0", LogConfig(), now_ms=0).close()
        job, ended = threads.jobs.pop()
        job()
        before = disk.operations
        ended.set_result(None)
        await turns()
        assert (threads.jobs, disk.operations, caplog.records) == ([], before, [])
        await asyncio.wait_for(flusher.drain(), 1.0)

    run(main())


def test_a_sync_without_a_descriptor_is_tried_again_unless_the_partition_is_gone() -> None:
    async def main() -> None:
        threads, disk = Threads(), MemoryDisk()
        flusher = Flusher(threads.run)
        orders, gone = partition(disk, flusher), partition(disk, flusher, 1)
        done: list[KafkaError | None] = []
        orders.when_committed(produce(orders), done.append)
        produce(gone)
        await turns()
        disk.fail("open", error=errno.EMFILE)
        flusher.forget(gone)
        await threads.finish(2)
        assert (done, flusher.postponed) == ([], 2)
        disk.heal()
        await asyncio.sleep(BUSY_SECONDS)
        await turns()
        assert len(threads.jobs) == 1
        await threads.finish()
        assert done == [None]
        await flusher.drain()

    run(main())
