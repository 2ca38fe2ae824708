"""The cleaner chooses, runs and judges compactions; threads and time are the test's."""

import asyncio
import errno
import logging
from dataclasses import replace

import pytest

from tests.rigs import log as log_rig
from tests.rigs.log import NOW_MS, append
from tests.rigs.partition import sole_leader
from tests.rigs.virtual_time import run
from tidelog.base.config.config import BrokerConfig
from tidelog.broker.log_dirs.cleaner import RETRY_SECONDS, LogCleaner
from tidelog.replication.partition import Durability
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk

CONFIG = LogConfig(compact=True, delete=False, segment_bytes=1 << 20)


class Clock:
    def __init__(self):
        self.seconds = 0.0

    def now_ms(self):
        return NOW_MS + int(self.seconds * 1000)

    def monotonic(self):
        return self.seconds


class Rig:
    """A few partitions, a cleaner, and threads that run their jobs at once, or when the test says so."""

    def __init__(self, **settings):
        self.disk = MemoryDisk()
        self.clock = Clock()
        self.partitions = []
        self.config = BrokerConfig(settings) if settings else BrokerConfig()
        self.cleaner = LogCleaner(self, self.clock, lambda: self.config, self.run_in_thread)
        self.held = None
        self.running = self.running_max = 0

    def __iter__(self):
        return iter(tuple(self.partitions))

    def run_in_thread(self, job):
        async def work():
            self.running += 1
            self.running_max = max(self.running, self.running_max)
            try:
                if self.held is not None:
                    await self.held.wait()
                return job()
            finally:
                self.running -= 1

        return asyncio.get_running_loop().create_task(work())

    def partition(self, topic, *, dirty=4, clean=0, config=CONFIG):
        log = PartitionLog.open(self.disk, f"/data/{topic}-0", config, now_ms=NOW_MS)
        for n in range(clean + dirty):
            append(log, [(b"a", b"v"), (b"k%d" % n, b"v")])
            log.roll(NOW_MS)
            if n + 1 == clean:
                log.compaction.cleaned_to = log.end
        partition = sole_leader(log, topic=topic, durability=Durability.OS, on_unsynced=lambda _: None)
        self.partitions.append(partition)
        return partition

    def names(self, topic):
        return self.disk.names(f"/data/{topic}-0")


def keys(partition):
    return [record.key for record in log_rig.records(partition.log)]


CLEAN = [b"k0", b"k1", b"k2", b"a", b"k3"]


def test_a_dirty_partition_is_compacted():
    rig = Rig()
    partition = rig.partition("orders")
    assert run(rig.cleaner.clean_once())
    assert keys(partition) == CLEAN
    assert partition.log.compaction.cleaned_to == 8
    assert not run(rig.cleaner.clean_once())


def test_replaced_segments_are_removed_after_their_delay():
    rig = Rig()
    rig.partition("orders")

    async def main():
        await rig.cleaner.clean_once()
        assert [name for name in rig.names("orders") if name.endswith(".deleted")]
        await asyncio.sleep(CONFIG.file_delete_delay_ms / 1000 + 1)
        assert not [name for name in rig.names("orders") if name.endswith(".deleted")]

    run(main())


def test_only_what_is_due_is_touched():
    rig = Rig()
    plain = rig.partition("plain", config=replace(CONFIG, compact=False))
    young = rig.partition("young", config=replace(CONFIG, min_compaction_lag_ms=1000))
    clean = rig.partition("clean", dirty=1, clean=3)
    assert not run(rig.cleaner.clean_once())
    assert all(len(keys(partition)) == 8 for partition in (plain, young, clean))


def test_nothing_above_the_high_watermark_is_touched():
    rig = Rig()
    partition = rig.partition("orders")
    partition.mark.offset = 3
    assert run(rig.cleaner.clean_once())
    assert partition.log.compaction.cleaned_to == 2


def test_the_filthiest_comes_first(caplog):
    caplog.set_level(logging.INFO)
    rig = Rig()
    rig.partition("some", dirty=4, clean=3)
    rig.partition("most", dirty=4)
    rig.partition("more", dirty=4, clean=1)
    run(rig.cleaner.clean_once())
    order = [record.args[0] for record in caplog.records if record.msg.startswith("compacted")]
    assert order == ["most-0", "more-0", "some-0"]
    assert rig.running_max == 1


def test_as_many_at_once_as_there_are_threads():
    rig = Rig(**{"log.cleaner.threads": 2})
    for number in range(5):
        rig.partition(f"topic{number}")

    async def main():
        rig.held = asyncio.Event()
        cleaning = asyncio.create_task(rig.cleaner.clean_once())
        await asyncio.sleep(3)
        assert rig.running == 2
        rig.held.set()
        await cleaning

    run(main())
    assert rig.running_max == 2
    assert all(keys(partition) == CLEAN for partition in rig)


def test_it_goes_on_where_memory_was_too_small():
    rig = Rig()
    partition = rig.partition("orders", dirty=1)
    for n in range(3):
        append(partition.log, [(b"x%d" % k, b"%d" % n) for k in range(6000)])
        append(partition.log, [(b"y%d" % k, b"%d" % n) for k in range(6000)])
    partition.log.roll(NOW_MS)
    partition.advance()
    rig.config = BrokerConfig({"log.cleaner.dedupe.buffer.size": 1 << 20})
    assert run(rig.cleaner.clean_once())
    assert partition.log.compaction.cleaned_to == partition.log.end
    assert len(keys(partition)) == 12_002


def test_it_can_be_switched_off():
    rig = Rig(**{"log.cleaner.enable": False})
    partition = rig.partition("orders")
    assert not run(rig.cleaner.clean_once())
    assert len(keys(partition)) == 8


def test_a_damaged_partition_is_given_up_and_the_others_go_on(caplog):
    rig = Rig()
    bad, good = rig.partition("bad"), rig.partition("good", clean=1)
    rig.disk.flip_bit(bad.log.segments[1].path + ".log", 75)
    assert run(rig.cleaner.clean_once())
    assert keys(good)[-2:] == [b"a", b"k4"]
    assert "its CRC is wrong" in rig.cleaner.uncleanable["bad", 0]
    assert "bad-0 will not be compacted" in caplog.text
    assert bad.log.offline is None
    assert not run(rig.cleaner.clean_once())
    rig.partitions.remove(bad)
    run(rig.cleaner.clean_once())
    assert rig.cleaner.uncleanable == {}


def test_a_full_disk_is_tried_again_later(caplog):
    rig = Rig()
    partition = rig.partition("orders")
    names = rig.names("orders")
    rig.disk.fail("write", ".cleaned", error=errno.ENOSPC)
    run(rig.cleaner.clean_once())
    assert "No space left" in caplog.text
    assert rig.names("orders") == names
    assert partition.log.offline is None
    assert rig.cleaner.uncleanable == {}
    rig.disk.heal()
    assert not run(rig.cleaner.clean_once())
    rig.clock.seconds += RETRY_SECONDS
    assert run(rig.cleaner.clean_once())
    assert keys(partition) == CLEAN


def test_a_swap_that_cannot_begin_leaves_nothing_behind():
    rig = Rig()
    partition = rig.partition("orders")
    names = rig.names("orders")
    rig.disk.fail("rename", ".log.cleaned", error=errno.ENOSPC)
    run(rig.cleaner.clean_once())
    assert rig.names("orders") == names
    assert partition.log.offline is None


def test_an_error_of_our_own_stops_nothing_else(caplog, monkeypatch):
    rig = Rig()
    partition = rig.partition("orders")
    monkeypatch.setattr(type(partition.log.compaction), "finish", lambda *_: 1 / 0)
    run(rig.cleaner.clean_once())
    assert "division by zero" in rig.cleaner.uncleanable["orders", 0]


def test_a_disk_error_during_the_swap_takes_only_this_log_offline():
    rig = Rig()
    partition, other = rig.partition("orders"), rig.partition("other", clean=1)
    logged_at = []
    partition.when_committed(99, logged_at.append)
    rig.disk.fail("rename", "orders-0/00000000000000000000.log", number=2)
    run(rig.cleaner.clean_once())
    assert partition.log.offline is not None
    assert logged_at == [logged_at[0]]
    assert len(keys(other)) < 10


def test_a_log_that_is_truncated_meanwhile_is_left_alone():
    rig = Rig()
    partition = rig.partition("orders")

    async def main():
        rig.held = asyncio.Event()
        cleaning = asyncio.create_task(rig.cleaner.clean_once())
        await asyncio.sleep(0)
        partition.log.truncate_to(2)
        rig.held.set()
        await cleaning

    run(main())
    assert keys(partition) == [b"a", b"k0"]
    assert rig.cleaner.uncleanable == {}


def test_a_deleted_topic_ends_its_compaction():
    rig = Rig()
    partition = rig.partition("orders")
    names = rig.names("orders")

    async def main():
        rig.held = asyncio.Event()
        cleaning = asyncio.create_task(rig.cleaner.clean_once())
        await asyncio.sleep(0)
        rig.partitions.clear()
        await asyncio.sleep(2)
        rig.held.set()
        await cleaning

    run(main())
    assert rig.names("orders") == names
    assert partition.log.compaction.cleaned_to is None


def test_closing_stops_what_is_under_way():
    rig = Rig()
    partition = rig.partition("orders")
    names = rig.names("orders")

    async def main():
        rig.held = asyncio.Event()
        cleaning = asyncio.create_task(rig.cleaner.clean_once())
        await asyncio.sleep(0)
        closing = asyncio.create_task(rig.cleaner.close())
        await asyncio.sleep(0)
        assert not closing.done()
        rig.held.set()
        await closing
        await cleaning
        assert not await rig.cleaner.clean_once()

    run(main())
    assert rig.names("orders") == names
    assert len(keys(partition)) == 8


def test_cancelling_waits_for_the_threads():
    rig = Rig()
    rig.partition("orders")

    async def main():
        rig.held = asyncio.Event()
        cleaning = asyncio.create_task(rig.cleaner.clean_once())
        await asyncio.sleep(0)
        cleaning.cancel()
        await asyncio.sleep(2)
        assert not cleaning.done()
        rig.held.set()
        with pytest.raises(asyncio.CancelledError):
            await cleaning
        assert rig.running == 0

    run(main())


def test_a_log_that_is_being_copied_is_left_alone_until_the_copy_is_made():
    rig = Rig()
    partition = rig.partition("orders")
    before = keys(partition)
    partition.log.compaction.copies_under_way = 1
    assert not run(rig.cleaner.clean_once())
    assert keys(partition) == before
    partition.log.compaction.copies_under_way = 0
    assert run(rig.cleaner.clean_once())
    assert keys(partition) == CLEAN


def test_a_copy_that_begins_during_a_compaction_stops_it():
    rig = Rig()
    partition = rig.partition("orders")
    before = keys(partition)

    async def main():
        rig.held = asyncio.Event()
        cleaning = asyncio.ensure_future(rig.cleaner.clean_once())
        await asyncio.sleep(0.1)
        partition.log.compaction.copies_under_way = 1
        rig.held.set()
        await cleaning

    run(main())
    assert keys(partition) == before
    assert not rig.cleaner.uncleanable
    assert not [name for name in rig.names("orders") if name.endswith((".cleaned", ".swap"))]
