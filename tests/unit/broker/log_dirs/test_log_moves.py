"""A log moves to another log dir while its partition lives on: what arrives there is what the old one had."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.rigs.log import NOW_MS, records
from tests.rigs.quorum import Dice, LoopClock, at_once
from tests.rigs.virtual_time import run
from tidelog.broker.log_dirs import log_moves
from tidelog.broker.log_dirs.log_dirs import LogDirs
from tidelog.broker.log_dirs.log_moves import LogMoves
from tidelog.broker.quota import UNLIMITED
from tidelog.metadata.image.entities import PartitionImage
from tidelog.replication.partition import Durability, Partition
from tidelog.storage.journal.block import JournalEntry
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.batch import check_batches
from tidelog.wire.record import Record, write_batch

TOPIC_ID = b"orders".ljust(16)


def write(log: PartitionLog, epoch: int, *values: bytes) -> None:
    for value in values:
        batch = write_batch([Record(0, NOW_MS, None, value)])
        log.append(memoryview(batch), check_batches(batch), leader_epoch=epoch, now_ms=NOW_MS)


class TwoLogDirs:
    def __init__(self, rate: int = UNLIMITED) -> None:
        self.disk = MemoryDisk()
        for path in ("/one", "/two"):
            self.disk.make_dirs(path)
        self.log_dirs = LogDirs.open(
            self.disk, ["/one", "/two"], cluster_id=None, node_id=1, random=Dice(), journal_bytes=1 << 15
        )
        log = self.log_dirs.first.open_log("orders", TOPIC_ID, 0, LogConfig(), now_ms=NOW_MS)
        self.partition = Partition(
            "orders",
            TOPIC_ID,
            0,
            log,
            node_id=1,
            durability=Durability.OS,
            min_insync_replicas=1,
            on_unsynced=lambda _: None,
        )
        self.meanwhile: Callable[[], None] | None = None
        self.moves = LogMoves(self.disk, self._hosted(), LoopClock(), self._in_thread, rate=lambda: rate)

    def _hosted(self) -> Any:
        return SimpleNamespace(
            log_dirs=self.log_dirs,
            find_any=lambda *_: self.partition,
            current=lambda *_: self.partition,
            checkpoint_now=lambda: True,
        )

    def _in_thread(self, job: Callable[[], Any]) -> "asyncio.Future[Any]":
        done = at_once(job)
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return done

    def lead(self, leader: int, epoch: int) -> None:
        self.partition.apply(PartitionImage(0, (1, 2), (1, 2), leader, epoch, epoch), 0.0)

    async def move(self) -> None:
        self.moves.begin("orders", 0, "/two")
        while self.partition.log.directory.startswith("/one"):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)

    def values(self) -> list[bytes | None]:
        return [record.value for record in records(self.partition.log)]


def test_what_was_truncated_while_it_was_copied_does_not_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_moves, "FINAL_BYTES", 10)

    async def life() -> None:
        two = TwoLogDirs()
        two.lead(2, 1)
        source = two.partition.log
        write(source, 0, b"a", b"b", b"lost", b"lost, too")

        def another_leader() -> None:
            source.truncate_to(2)
            write(source, 1, b"c", b"d", b"e")

        two.meanwhile = another_leader
        await two.move()
        assert two.values() == [b"a", b"b", b"c", b"d", b"e"]
        assert two.partition.log.leader_epochs.entries == [(0, 0), (1, 2)]

    run(life())


def test_a_leader_that_has_written_nothing_yet_still_knows_its_epoch() -> None:
    async def life() -> None:
        two = TwoLogDirs()
        write(two.partition.log, 0, b"a", b"b")
        two.lead(1, 7)
        await two.move()
        assert two.values() == [b"a", b"b"]
        assert two.partition.log.leader_epochs.entries == [(0, 0), (7, 2)]

    run(life())


def test_a_limit_on_bytes_a_second_slows_a_move_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_moves, "FINAL_BYTES", 10)
    monkeypatch.setattr(log_moves, "CHUNK_BYTES_MIN", 1000)

    async def seconds(rate: int) -> float:
        two = TwoLogDirs(rate)
        two.lead(1, 1)
        write(two.partition.log, 1, *(bytes(1000) for _ in range(60)))
        began = asyncio.get_running_loop().time()
        await two.move()
        assert len(two.values()) == 60
        return asyncio.get_running_loop().time() - began

    async def both() -> None:
        assert await seconds(UNLIMITED) < 1
        assert 10 < await seconds(2000) < 60, "two kilobytes a second, ten seconds of them at once"

    run(both())


def test_a_log_that_cannot_be_replaced_needs_no_journal(caplog: pytest.LogCaptureFixture) -> None:
    """The next start takes the old directory, and by then the journal may have used the place for others."""

    async def life() -> None:
        two = TwoLogDirs()
        old = two.partition.log
        two.log_dirs.put_in_service("orders", old)
        journal = old.journal
        assert journal is not None
        journal.created(journal.create()())
        write(old, 0, b"a")
        flush = old.begin_flush()
        assert flush is not None
        flush.run()
        old.finish_flush(flush)
        write(old, 0, b"b")
        journaled = old.begin_journaling(1 << 20)
        assert journaled is not None
        shared = journal.begin([JournalEntry(old.name, TOPIC_ID, *journaled.start, journaled.data)])
        assert shared is not None
        shared.run()
        journal.finish(shared)
        old.finish_journaling(journaled)
        assert (old.synced_end, old.recovery_point) == (2, 1)
        two.disk.fail("rename", "/one/orders-0")
        two.moves.begin("orders", 0, "/two")
        while old.offline is None:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)
        assert "could not be put in place" in caplog.text
        assert old.recovery_point == 2

    run(life())
