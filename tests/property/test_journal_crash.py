"""Several logs share a journal, and power is cut anywhere, life after life: what was acknowledged is there,
byte for byte, and what was truncated or deleted does not come back."""

import random
from collections.abc import Callable, Iterator

import pytest

from tidelog.base.ids import Uuid
from tidelog.broker.log_dirs.log_dir import LogDir
from tidelog.storage.flush import Journaled
from tidelog.storage.journal import journal as journal_module
from tidelog.storage.journal.block import JournalEntry
from tidelog.storage.journal.journal import JournalWrite
from tidelog.storage.journal.replay import JournalReplay
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.storage.log_dir.files import LOG_STARTS, RECOVERY_POINTS, LogDirIdentity
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk, PowerCut
from tidelog.wire.batch import check_batches, iter_batches
from tidelog.wire.record import Record, write_batch

PATH = "/data"
JOURNAL_SEGMENTS = 3
JOURNAL_BYTES = JOURNAL_SEGMENTS * 3072
LOGS = 3


@pytest.fixture(autouse=True)
def small_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "SEGMENTS_MAX", JOURNAL_SEGMENTS)


class Model:
    """What one log may and must have after a crash."""

    def __init__(self, topic_id: Uuid) -> None:
        self.topic_id = topic_id
        self.allowed: dict[int, set[bytes]] = {}
        self.current: dict[int, bytes] = {}
        self.acknowledged = 0
        self.start = 0
        self.is_known = False
        """Its directory is durable."""

    def survived(self, log: PartitionLog) -> None:
        """What a crash left is what the log has from now on."""
        self.current = contents(log)
        self.allowed = {base: {data} for base, data in self.current.items()}


def contents(log: PartitionLog) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    offset = log.start
    while (read := log.read(offset, 700, end=log.end)) is not None:
        data = read.slice.read()
        for position, header in iter_batches(data):
            found[header.base_offset] = data[position : position + header.size]
            offset = header.next_offset
    return found


def end_of(batch: bytes) -> int:
    [(_, header)] = iter_batches(batch)
    return header.next_offset


class World:
    def __init__(self, seed: int, make_disk: Callable[[int], MemoryDisk] = MemoryDisk) -> None:
        self.rng = random.Random(seed)
        self.config = LogConfig(
            segment_bytes=3000 if seed % 2 else 30_000,
            index_interval_bytes=300,
            file_delete_delay_ms=0,
            retention_ms=-1,
        )
        self.disk = make_disk(seed)
        self.disk.make_dirs(PATH)
        self.disk.sync_dir("/")
        self.models = [Model(bytes([number]) * 16) for number in range(LOGS)]
        self.logs: list[PartitionLog] = []
        self.step = 0
        self.shared = self.replays = 0
        """Times that logs shared a sync, and that a journal was found by a start."""

    # A broker's life

    def open(self) -> None:
        self.log_dir = LogDir(self.disk, PATH)
        self.log_dir.open(LogDirIdentity("c", 1, "d"))
        assert self.log_dir.offline is None
        self.log_dir.use_journal(JOURNAL_BYTES, 2, lambda: self.rng.randbytes(16))
        self.logs = [self.open_log(number) for number in range(LOGS)]

    def open_log(self, number: int, *, is_new: bool = False) -> PartitionLog:
        topic_id = self.models[number].topic_id
        log = self.log_dir.open_log("t", topic_id, number, self.config, now_ms=1_000, is_new=is_new)
        log.journal = self.log_dir.journal
        return log

    def live(self, steps: int) -> None:
        for _ in range(steps):
            self.step += 1
            self.act(["append", "share", "flush", "roll", "trim", "truncate", "checkpoint", "replace"])

    def act(self, actions: list[str]) -> None:
        weights = {"append": 16, "share": 9, "flush": 1, "replace": 0.5}
        action = self.rng.choices(actions, [weights.get(one, 0.7) for one in actions])[0]
        act: Callable[[int], None] = getattr(self, action)
        act(self.rng.randrange(LOGS))

    def append(self, number: int) -> None:
        log, model = self.logs[number], self.models[number]
        count = self.rng.randint(1, 3)
        values = [self.rng.randbytes(self.rng.choice((10, 10, 100, 400))) for _ in range(count)]
        batch = write_batch([Record(i, 1_000, None, value) for i, value in enumerate(values)])
        view, base = memoryview(batch), log.end
        try:
            log.append(view, check_batches(view), leader_epoch=self.step // 40, now_ms=1_000)
        finally:  # what is in flight when power goes may be there or not
            model.allowed.setdefault(base, set()).add(bytes(batch))
        model.current[base] = bytes(batch)

    def share(self, _: int) -> None:
        """A turn of the flusher, in which anything may happen to the logs before the disk has it."""
        journal = self.log_dir.journal
        assert journal is not None
        parts: list[tuple[int, PartitionLog, Journaled]] = []
        entries: list[JournalEntry] = []
        for number, log in enumerate(self.logs):
            if log.synced_end == log.end or self.rng.random() < 0.2:
                continue
            journaled = log.begin_journaling(1_500)
            if journaled is None:
                self.flush(number)
            else:
                parts.append((number, log, journaled))
                topic_id = self.models[number].topic_id
                entries.append(JournalEntry(log.name, topic_id, *journaled.start, journaled.data))
        write = journal.begin(entries) if entries else None
        if journal.wants_file:
            journal.created(journal.create()())
        if write is None:
            for number, _, _ in parts:
                self.flush(number)
        else:
            self.finish_share(write, parts)
        for name in journal.logs_to_sync() if journal.wants_file_syncs else ():
            if self.rng.random() < 0.6:
                self.flush(int(name.rpartition("-")[2]))

    def finish_share(self, write: JournalWrite, parts: list[tuple[int, PartitionLog, Journaled]]) -> None:
        assert self.log_dir.journal is not None
        is_early = self.rng.random() < 0.5
        if is_early:
            write.run()
        if self.rng.random() < 0.3:
            self.act(["append", "flush", "roll", "trim", "truncate", "replace"])
        if not is_early:
            write.run()
        self.log_dir.journal.finish(write)
        assert write.error is None
        self.shared += 1
        for number, log, journaled in parts:
            log.finish_journaling(journaled)
            if self.logs[number] is log:
                self.models[number].acknowledged = log.synced_end

    def flush(self, number: int) -> None:
        log = self.logs[number]
        flush = log.begin_flush()
        if flush is not None:
            flush.run()
            log.finish_flush(flush)
            self.models[number].is_known = True
        self.models[number].acknowledged = log.synced_end

    def roll(self, number: int) -> None:
        self.logs[number].roll(1_000)

    def trim(self, number: int) -> None:
        log, model = self.logs[number], self.models[number]
        start = self.rng.randint(log.start, min(log.end, log.start + 10))
        if start <= model.acknowledged:
            model.start = max(model.start, start)
            log.delete_before(start)
            for doomed in log.retire(1_000, limit=model.acknowledged):
                doomed.run()

    def truncate(self, number: int) -> None:
        log, model = self.logs[number], self.models[number]
        offset = self.rng.randint(max(log.start, log.end - 10), log.end)
        if offset < log.end:  # the batch that holds the offset goes, too
            model.current = {base: data for base, data in model.current.items() if end_of(data) <= offset}
            kept = max((end_of(data) for data in model.current.values()), default=model.start)
            model.acknowledged = min(model.acknowledged, kept)
        log.truncate_to(offset)
        model.allowed = {base: {data} for base, data in model.current.items()}
        self.checkpoint(number)

    def checkpoint(self, _: int) -> None:
        points = {("t", number): log.recovery_point for number, log in enumerate(self.logs)}
        self.log_dir.files.write_checkpoint(RECOVERY_POINTS, points)
        starts = {("t", number): log.start for number, log in enumerate(self.logs)}
        self.log_dir.files.write_checkpoint(LOG_STARTS, starts)

    def replace(self, number: int) -> None:
        """Deleted and created again, or taken away from this broker and given back."""
        log, model = self.logs[number], self.models[number]
        if not model.is_known:
            return
        fresh = Model(model.topic_id if self.rng.random() < 0.5 else self.rng.randbytes(16))
        model.acknowledged = 0
        model.allowed.setdefault(0, set())
        log.close(clean=False)
        found = self.log_dir.forget(model.topic_id, number)
        assert found is not None
        renamed = self.log_dir.files.mark_deleted(found, self.rng.randbytes(16))
        self.models[number] = fresh
        self.log_dir.files.remove(renamed)
        self.checkpoint_without(number)
        self.logs[number] = self.open_log(number, is_new=True)

    def checkpoint_without(self, gone: int) -> None:
        points = {("t", n): log.recovery_point for n, log in enumerate(self.logs) if n != gone}
        self.log_dir.files.write_checkpoint(RECOVERY_POINTS, points)
        starts = {("t", n): log.start for n, log in enumerate(self.logs) if n != gone}
        self.log_dir.files.write_checkpoint(LOG_STARTS, starts)

    def stop(self) -> None:
        for number, log in enumerate(self.logs):
            log.close(clean=True)
            self.models[number].acknowledged = log.synced_end
        self.checkpoint(0)
        self.log_dir._closed_cleanly = True
        self.log_dir.close()
        assert not [name for name in self.disk.names(PATH) if "journal" in name]

    # What must hold

    def check(self, *, all_of_it: bool) -> None:
        """`all_of_it`: the process died, and not the machine, so that nothing is lost."""
        assert not [name for name in self.disk.names(PATH) if "damaged-journal" in name]
        for log, model in zip(self.logs, self.models, strict=True):
            found = contents(log)
            for base, data in found.items():
                assert data in model.allowed.get(base, ()), f"{log.name} has at {base} what it should not"
            for base, data in model.current.items():
                is_needed = all_of_it or base < model.acknowledged
                if is_needed and base >= max(log.start, model.start):
                    assert found.get(base) == data, f"{log.name} lost {base}: {log.recovery.lines()}"
            assert log.end >= model.acknowledged, log.recovery.lines()
            assert not log.recovery.losses, log.recovery.lines()
            model.survived(log)


def lives(world: World) -> Iterator[None]:
    """One crash after the other, the recovery itself among the moments at which power goes."""
    disk, rng = world.disk, world.rng
    world.open()
    while True:
        is_power_cut = rng.random() < 0.8
        disk.power_cut_at = disk.operations + rng.randint(1, 1500) if is_power_cut else None
        try:
            world.live(rng.randint(50, 250))
            if rng.random() < 0.1:
                world.stop()
        except PowerCut:
            pass
        if is_power_cut:
            disk.crash()
            while rng.random() < 0.4:
                disk.power_cut_at = disk.operations + rng.randint(1, 40)
                try:
                    world.open()
                    disk.power_cut_at = None
                    break
                except PowerCut:
                    disk.crash()
        disk.release_locks()
        world.replays += disk.exists(f"{PATH}/tidelog-journal.0")
        world.open()
        world.check(all_of_it=not is_power_cut)
        yield


@pytest.mark.parametrize("seed", range(40))
def test_what_was_acknowledged_is_there_and_nothing_else(seed: int) -> None:
    world = World(seed)
    each = lives(world)
    for _ in range(8):
        next(each)
    assert world.shared > 10


def voids_nothing(self: PartitionLog) -> None:
    """A rule that is broken on purpose: truncated entries stay in the journal."""


def replays_nothing(*_: object) -> JournalReplay:
    return JournalReplay()


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("tidelog.storage.log.PartitionLog.leave_journal", voids_nothing),
        ("tidelog.broker.log_dirs.log_dir.replay", replays_nothing),
        ("tidelog.broker.log_dirs.log_dir.LogDir._void_journal", voids_nothing),
    ],
    ids=["truncations", "replay", "replaced logs"],
)
def test_the_check_can_fail(name: str, broken: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name, broken)
    for seed in range(60):
        try:
            test_what_was_acknowledged_is_there_and_nothing_else(seed)
        except AssertionError:
            return
    pytest.fail("no seed noticed")
