"""A log that a full disk has stopped comes back once there is room, but leads only with all it had."""

import asyncio
import errno
import logging

import pytest

from tests.rigs.quorum import Dice, LoopClock, at_once
from tests.rigs.virtual_time import run
from tidelog.base.config.config import BrokerConfig
from tidelog.broker.log_dirs.flusher import Flusher
from tidelog.broker.log_dirs.hosted import HostedPartitions
from tidelog.broker.log_dirs.log_dirs import LogDirs
from tidelog.broker.log_dirs.log_reopening import LogReopening
from tidelog.metadata.image.diff import diff
from tidelog.metadata.image.entities import PartitionImage, TopicImage
from tidelog.metadata.image.image import ClusterImage
from tidelog.storage.journal.block import JournalEntry
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.batch import check_batches
from tidelog.wire.record import Record, write_batch

TOPIC = TopicImage("t", bytes([1] * 16), (PartitionImage(0, (1, 2), (1,), 1),))
IMAGE = ClusterImage(topics={"t": TOPIC}, topics_by_id={TOPIC.id: TOPIC})
LOG = f"/data/t-0/{0:020d}.log"


@pytest.mark.parametrize("is_damaged", [False, True])
def test_a_log_that_is_found_damaged_does_not_lead(
    is_damaged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """As a leader it would append behind what it lost, and a repair cuts that off."""

    async def life() -> None:
        disk = MemoryDisk()
        disk.make_dirs("/data")
        log_dirs = LogDirs.open(disk, ["/data"], cluster_id=None, node_id=1, random=Dice())
        hosted = HostedPartitions(1, log_dirs, Flusher(at_once), LoopClock(), at_once)
        await hosted.open_all(IMAGE, BrokerConfig())
        await hosted.take_roles()
        partition = hosted.find("t", 0)
        for _ in range(3):
            batch = write_batch([Record(0, 0, None, b"x")])
            partition.produce(memoryview(batch), all_replicas=True, now_ms=0)
        flush = partition.log.begin_flush()
        assert flush is not None
        flush.run()
        partition.log.finish_flush(flush)
        partition.advance()
        assert partition.high_watermark == 3
        stopped = partition.log
        stopped.health.offline = OSError(errno.ENOSPC, "full")
        guard = stopped.producer_state.begin_verification(7, 0, 0, 0)
        if is_damaged:
            disk.flip_bit(LOG, disk.size(LOG) - 2)
        await LogReopening(disk, hosted, LoopClock(), at_once).run_once()
        assert partition.log is not stopped
        assert partition.log.producer_state.begin_verification(7, 0, 0, 0) is guard, (
            "whoever asked before may write"
        )
        assert partition.is_leader != is_damaged
        assert hosted.damaged() == ({(TOPIC.id, 0)} if is_damaged else set())
        assert ("LOST" in caplog.text) == is_damaged
        log_dirs.close()

    with caplog.at_level(logging.WARNING, "tidelog.broker"):
        run(life())


def test_the_log_of_a_deleted_topic_is_not_opened_in_the_directory_of_the_next(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A topic is deleted on a full disk, to make room, and made again."""
    again = TopicImage("t", bytes([2] * 16), (PartitionImage(0, (1, 2), (1,), 1),))
    after = ClusterImage(topics={"t": again}, topics_by_id={again.id: again})

    async def life() -> None:
        disk = MemoryDisk()
        disk.make_dirs("/data")
        log_dirs = LogDirs.open(disk, ["/data"], cluster_id=None, node_id=1, random=Dice())
        hosted = HostedPartitions(1, log_dirs, Flusher(at_once), LoopClock(), at_once)
        await hosted.open_all(IMAGE, BrokerConfig())
        await hosted.take_roles()
        gone = hosted.find("t", 0)
        batch = write_batch([Record(0, 0, None, b"x")])
        gone.produce(memoryview(batch), all_replicas=True, now_ms=0)
        flush = gone.log.begin_flush()
        assert flush is not None
        flush.run()
        gone.log.finish_flush(flush)
        gone.advance()
        gone.log.health.offline = OSError(errno.ENOSPC, "full")
        async with hosted.steady():
            change = asyncio.create_task(hosted.on_change(diff(IMAGE, after), BrokerConfig()))
            await asyncio.sleep(0)
            reopening = asyncio.create_task(LogReopening(disk, hosted, LoopClock(), at_once).run_once())
            await asyncio.sleep(0.1)
        await asyncio.gather(change, reopening)
        assert hosted.find("t", 0).topic_id == again.id
        assert disk.size(LOG) == 0
        assert "LOST" not in caplog.text
        log_dirs.close()

    run(life())


@pytest.mark.parametrize("is_lost", [False, True])
def test_what_the_journal_alone_has_is_not_given_up(is_lost: bool, caplog: pytest.LogCaptureFixture) -> None:
    """A follower reported it as synced, or a request was answered: a start must bring it back."""

    async def life() -> None:
        disk = MemoryDisk()
        disk.make_dirs("/data")
        log_dirs = LogDirs.open(
            disk, ["/data"], cluster_id=None, node_id=1, random=Dice(), journal_bytes=1 << 15
        )
        hosted = HostedPartitions(1, log_dirs, Flusher(at_once), LoopClock(), at_once)
        await hosted.open_all(IMAGE, BrokerConfig())
        await hosted.take_roles()
        partition = hosted.find("t", 0)
        stopped, journal = partition.log, log_dirs.first.journal
        assert journal is not None
        journal.created(journal.create()())
        for number in range(3):
            batch = memoryview(write_batch([Record(0, 0, None, b"x")]))
            stopped.append(batch, check_batches(batch), leader_epoch=0, now_ms=0)
            if number == 1:
                flush = stopped.begin_flush()
                assert flush is not None
                flush.run()
                stopped.finish_flush(flush)
        journaled = stopped.begin_journaling(1 << 20)
        assert journaled is not None
        shared = journal.begin([JournalEntry(stopped.name, TOPIC.id, *journaled.start, journaled.data)])
        assert shared is not None
        shared.run()
        journal.finish(shared)
        stopped.finish_journaling(journaled)
        assert (stopped.recovery_point, stopped.synced_end) == (2, 3)
        partition.apply(PartitionImage(0, (1, 2), (1, 2), 2, 1), 0.0)  # it follows
        stopped.health.offline = OSError(errno.ENOSPC, "full")
        if is_lost:
            disk.open(LOG).truncate(disk.size(LOG) - 20)
        await LogReopening(disk, hosted, LoopClock(), at_once).run_once()
        assert (partition.log is stopped) == is_lost
        assert journal.mentions("t-0") == is_lost
        assert ("stays offline: its files lost a part" in caplog.text) == is_lost
        log_dirs.close()

    with caplog.at_level(logging.WARNING, "tidelog.broker"):
        run(life())
