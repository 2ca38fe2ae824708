"""Several logs share a journal, and power is cut anywhere, life after life: what was acknowledged is there,
byte for byte, and what was truncated or deleted does not come back. In some lives the disk fails as well."""

import errno
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from tidelog.base.errors import KafkaError, StorageError
from tidelog.base.ids import Uuid
from tidelog.broker.log_dirs.log_dir import LogDir
from tidelog.storage.flush import Journaled
from tidelog.storage.journal import journal as journal_module
from tidelog.storage.journal.block import JournalEntry
from tidelog.storage.journal.journal import JournalWrite
from tidelog.storage.journal.replay import JournalReplay
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.storage.log_dir.files import LOG_STARTS, RECOVERY_POINTS, LogDirFiles, LogDirIdentity
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk, PowerCut
from tidelog.wire.batch import check_batches, iter_batches
from tidelog.wire.record import Record, write_batch

PATH = "/data"
JOURNAL_SEGMENTS = 3
LOGS = 3

FAULTS = [
    ("sync", "/t-", errno.EIO),
    ("sync", "/tidelog-journal", errno.EIO),
    ("sync", "", errno.EIO),
    ("sync_dir", "", errno.EIO),
    ("write", "/t-", errno.ENOSPC),
    ("write", "/tidelog-journal", errno.ENOSPC),
    ("*", "/journal-void", errno.ENOSPC),
    ("rename", "", errno.EIO),
]

MOMENTS = [
    ("write", "/tidelog-journal", 40),
    ("sync", "/tidelog-journal", 40),
    ("truncate", "/tidelog-journal", 5),
    ("rename", "/journal-void", 4),
    ("rename", "/meta.properties", 2),
    ("sync", "/t-", 30),
]
"""In which power is cut, more often than chance would: at the latest in the n-th."""


class Scale(NamedTuple):
    values: tuple[int, ...] = (10, 10, 100, 400)
    """Bytes of a record."""
    shared_max: int = 1_500
    journal_segment: int = 3_072
    log_segments: tuple[int, int] = (30_000, 3_000)


SMALL = Scale()
LARGE = Scale((10, 3_000, 30_000, 70_000), 150_000, 200_704, (3_000_000, 300_000))
"""What crosses the blocks of an encrypted file."""


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
        self.is_truncating = False
        """It failed, or power was cut in the middle: what was to go may come back, or pass for lost."""
        self.has_gap = False
        """It did pass for lost, and every start says so."""

    def survived(self, log: PartitionLog) -> None:
        """What a crash left is what the log has from now on. Its start may go back with the next crash."""
        self.current = contents(log)
        kept = {b: data for b, data in self.allowed.items() if b < log.start or self.is_truncating}
        self.allowed = kept | {base: kept.get(base, set()) | {data} for base, data in self.current.items()}


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


class Absent:
    """In the place of a log that a start could not open."""

    def __init__(self, error: Exception, recovery_point: int, start: int) -> None:
        self.offline, self.recovery_point, self.start = error, recovery_point, start
        self.end = self.synced_end = 0

    def close(self, *, clean: bool) -> None:
        pass


class World:
    def __init__(
        self, seed: int, make_disk: Callable[[int], MemoryDisk] = MemoryDisk, scale: Scale = SMALL
    ) -> None:
        self.rng = random.Random(seed)
        self.scale = scale
        self.config = LogConfig(
            segment_bytes=scale.log_segments[seed % 2],
            index_interval_bytes=300,
            file_delete_delay_ms=0,
            retention_ms=-1,
        )
        self.disk = make_disk(seed)
        self.disk.make_dirs(PATH)
        self.disk.sync_dir("/")
        self.models = [Model(bytes([number]) * 16) for number in range(LOGS)]
        self.logs: list[Any] = []
        self.step = 0
        self.shared = self.replays = 0
        """Times that logs shared a sync, and that a journal was found by a start."""
        self.is_flushing = self.is_sharing = False
        self.failures = 0
        """Times that the disk refused something."""
        self.restarts = self.absent = 0
        """Times that a journal began anew, and that a log was left out while others were served."""
        self.returned = 0
        """Of these, logs that were opened later in the same life."""

    # A broker's life

    def open(self) -> None:
        self.open_log_dir()
        self.logs = [self.open_log(number) for number in range(LOGS)]
        if any(log.recovery.trusts_too_much for log in self.logs):
            self.checkpoint(0)

    def open_log_dir(self) -> None:
        self.log_dir = LogDir(self.disk, PATH)
        self.log_dir.open(LogDirIdentity("c", 1, "d"))
        if self.log_dir.offline is not None:
            raise self.log_dir.offline
        assert not self.log_dir.journal_was_damaged, "no disk here changes what was written"
        self.log_dir.use_journal(
            JOURNAL_SEGMENTS * self.scale.journal_segment, 2, lambda: self.rng.randbytes(16)
        )
        self.is_flushing = self.is_sharing = False

    def open_log(self, number: int, *, is_new: bool = False) -> PartitionLog:
        topic_id = self.models[number].topic_id
        log = self.log_dir.open_log("t", topic_id, number, self.config, now_ms=1_000, is_new=is_new)
        log.journal = self.log_dir.journal
        return log

    def open_on_a_broken_disk(self) -> None:
        """A start that fails half-way, and the next one finds what it left in the page cache."""
        self.break_disk()
        try:
            self.open()
        except (KafkaError, StorageError, OSError):
            self.failures += 1
        self.disk.heal()
        self.disk.release_locks()

    def live_without_a_log(self) -> None:
        """Its files fail, so a start opens the others. The next life finds it as the last one but this left
        it, whatever happens to the others."""
        number, operation = self.rng.randrange(LOGS), self.rng.choice(["open", "read", "write", "sync"])
        self.disk.fail(operation, f"/t-{number}/0", number=self.rng.randint(1, 2))
        try:
            self.open_log_dir()
        except (StorageError, OSError):
            self.failures += 1
            self.disk.heal()
            self.disk.release_locks()
            return
        self.logs = [self.open_if_possible(number) for number in range(LOGS)]
        self.disk.heal()
        for log, model in zip(self.logs, self.models, strict=True):
            if isinstance(log, Absent):
                self.absent += 1
            else:
                self.check_log(log, model, all_of_it=False)
        if any(log.recovery.trusts_too_much for log in self.logs if not isinstance(log, Absent)):
            self.checkpoint(0)
        is_power_cut = self.rng.random() < 0.7
        try:
            for _ in range(self.rng.randint(1, 4)):
                self.live(self.rng.randint(5, 40))
                self.open_absent_logs()
        except PowerCut:
            is_power_cut = True
        self.disk.heal()
        self.disk.power_cut_at = None
        if is_power_cut:
            self.disk.crash()
        self.disk.release_locks()

    def open_absent_logs(self) -> None:
        """While others are served, the files of a log work again, or for a moment. Or the log is removed, and
        its name is used again later."""
        for number, log in enumerate(tuple(self.logs)):
            if not isinstance(log, Absent) or self.rng.random() < 0.4:
                continue
            if self.rng.random() < 0.4 and self.remove(number):
                self.logs[number] = Absent(OSError("it was removed"), 0, 0)
                continue
            if self.rng.random() < 0.3:
                operation = self.rng.choice(["write", "rename", "sync"])
                path_part = self.rng.choice(["/journal-void", f"/t-{number}/0"])
                self.disk.fail(operation, path_part, number=self.rng.randint(1, 3))
            self.logs[number] = opened = self.open_if_possible(number)
            self.disk.heal()
            if not isinstance(opened, Absent):
                self.returned += 1
                self.check_log(opened, self.models[number], all_of_it=False)
                if opened.recovery.trusts_too_much:
                    self.checkpoint(0)

    def open_if_possible(self, number: int) -> Any:
        try:
            return self.open_log(number)
        except (KafkaError, StorageError, OSError) as error:
            known, key = self.log_dir.checkpoints, ("t", number)
            return Absent(error, known.recovery_points.get(key, 0), known.log_starts.get(key, 0))

    def live(self, steps: int) -> None:
        for _ in range(steps):
            self.step += 1
            self.act(["append", "share", "flush", "roll", "trim", "truncate", "checkpoint", "replace"])

    def act(self, actions: list[str]) -> None:
        weights = {"append": 16, "share": 9, "flush": 1, "replace": 0.5}
        action = self.rng.choices(actions, [weights.get(one, 0.7) for one in actions])[0]
        act: Callable[[int], None] = getattr(self, action)
        number = self.rng.randrange(LOGS)
        if action in ("share", "checkpoint", "replace") or self.logs[number].offline is None:
            self.attempt(lambda: act(number))

    def attempt(self, act: Callable[[], None]) -> None:
        """Whatever fails leaves its log offline; the others go on."""
        try:
            act()
        except (KafkaError, OSError):
            if not self.disk.has_faults:
                raise
            self.failures += 1

    def break_disk(self) -> None:
        operation, path_part, error = self.rng.choice(FAULTS)
        self.disk.fail(operation, path_part, number=self.rng.randint(1, 40), error=error)

    def break_journal(self) -> None:
        operation = self.rng.choice(["write", "sync"])
        self.disk.fail(operation, "/tidelog-journal", number=self.rng.randint(1, 15))

    def append(self, number: int) -> None:
        log, model = self.logs[number], self.models[number]
        count = self.rng.randint(1, 3)
        values = [self.rng.randbytes(self.rng.choice(self.scale.values)) for _ in range(count)]
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
        if self.is_sharing:
            return  # one write at a time
        if journal.failure is not None and self.rng.random() < 0.6:
            self.attempt(self.restart_journal)
        parts: list[tuple[int, PartitionLog, Journaled]] = []
        entries: list[JournalEntry] = []
        alone: list[int] = []
        for number, log in enumerate(self.logs):
            if log.synced_end == log.end or log.offline is not None or self.rng.random() < 0.2:
                continue
            journaled = None if journal.failure else log.begin_journaling(self.scale.shared_max)
            if journaled is None:
                alone.append(number)
            else:
                parts.append((number, log, journaled))
                topic_id = self.models[number].topic_id
                entries.append(JournalEntry(log.name, topic_id, *journaled.start, journaled.data))
        write = journal.begin(entries) if entries else None
        if journal.wants_file:
            journal.created(journal.create()())
        if write is None:
            self.flush_all([number for number, _, _ in parts])
        else:
            self.finish_share(write, parts)
        self.flush_all(alone)
        waiting = journal.logs_to_sync() if journal.wants_file_syncs else []
        self.flush_all([int(name.rpartition("-")[2]) for name in waiting if self.rng.random() < 0.6])

    def restart_journal(self) -> None:
        journal = self.log_dir.journal
        assert journal is not None
        if not self.is_flushing and self.rng.random() < 0.7:
            self.disk.heal()
        if not self.log_dir.can_restart_journal:
            waiting = [int(name.rpartition("-")[2]) for name in journal.logs_to_sync()]
            self.flush_all([number for number in waiting if self.rng.random() < 0.7])
        if self.log_dir.can_restart_journal:
            self.log_dir.end_failed_journal()()
            journal.begin_anew()
            self.restarts += 1
            if self.rng.random() < 0.5:
                self.break_journal()
            if self.rng.random() < 0.3:
                self.disk.power_cut_at = self.disk.operations + self.rng.randint(1, 20)

    def flush_all(self, numbers: list[int]) -> None:
        for number in numbers:
            if self.logs[number].offline is None:
                self.attempt(lambda number=number: self.flush(number))  # type: ignore[misc]

    def finish_share(self, write: JournalWrite, parts: list[tuple[int, PartitionLog, Journaled]]) -> None:
        assert self.log_dir.journal is not None
        is_early = self.rng.random() < 0.5
        if is_early:
            write.run()
        if self.rng.random() < 0.3:
            self.is_sharing = True
            self.act(["append", "flush", "roll", "trim", "truncate", "replace"])
            self.is_sharing = False
        if not is_early:
            write.run()
        self.log_dir.journal.finish(write)
        if write.error is not None:
            assert self.disk.has_faults
            self.flush_all([number for number, log, _ in parts if self.logs[number] is log])
            return
        self.shared += 1
        for number, log, journaled in parts:
            log.finish_journaling(journaled)
            if self.logs[number] is log and not self.models[number].is_truncating:
                self.models[number].acknowledged = log.synced_end

    def flush(self, number: int) -> None:
        log = self.logs[number]
        flush = log.begin_flush()
        if flush is not None:
            if not self.is_flushing and self.rng.random() < 0.3:
                self.is_flushing = True
                for _ in range(self.rng.randint(1, 3)):  # while a thread waits for the disk
                    self.act(["append", "share", "roll", "truncate"])
                self.is_flushing = False
            flush.run()
            log.finish_flush(flush)
            if self.logs[number] is not log or log.offline is not None:
                return
            self.models[number].is_known = True
            self.models[number].is_truncating = False
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
            start = min(model.start, log.start)  # a crash may have taken it back
            kept = max((end_of(data) for data in model.current.values()), default=start)
            model.acknowledged = min(model.acknowledged, kept)
        model.is_truncating = True
        log.truncate_to(offset)
        model.is_truncating = False
        below = {base: data for base, data in model.allowed.items() if base < log.start}
        model.allowed = below | {base: {data} for base, data in model.current.items()}
        try:
            self.checkpoint(number)
        except OSError as error:
            log.health.go_offline(error)  # nothing is appended before the lower recovery point is written

    def checkpoint(self, _: int) -> None:
        points = {("t", number): log.recovery_point for number, log in enumerate(self.logs)}
        self.log_dir.files.write_checkpoint(RECOVERY_POINTS, points)
        starts = {("t", number): log.start for number, log in enumerate(self.logs)}
        self.log_dir.files.write_checkpoint(LOG_STARTS, starts)

    def replace(self, number: int) -> None:
        """Deleted and created again, or taken away from this broker and given back."""
        if self.remove(number):
            self.logs[number] = self.open_log(number, is_new=True)

    def remove(self, number: int) -> bool:
        log, model = self.logs[number], self.models[number]
        if not model.is_known or self.disk.has_faults:
            return False
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
        return True

    def checkpoint_without(self, gone: int) -> None:
        points = {("t", n): log.recovery_point for n, log in enumerate(self.logs) if n != gone}
        self.log_dir.files.write_checkpoint(RECOVERY_POINTS, points)
        starts = {("t", n): log.start for n, log in enumerate(self.logs) if n != gone}
        self.log_dir.files.write_checkpoint(LOG_STARTS, starts)

    def stop(self) -> None:
        if self.disk.has_faults or any(log.offline is not None for log in self.logs):
            return  # as a crash: the log dir is not clean
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
            self.check_log(log, model, all_of_it=all_of_it)

    def check_log(self, log: PartitionLog, model: Model, *, all_of_it: bool) -> None:
        found = contents(log)
        for base, data in found.items() if not model.is_truncating else ():
            if log.recovery.damages and base >= model.acknowledged:
                continue  # no checksum covers a base offset, of which a page with a hole has taken a part
            assert data in model.allowed.get(base, ()), f"{log.name} has at {base} what it should not"
        for base, data in model.current.items():
            is_needed = all_of_it or base < model.acknowledged
            if is_needed and base >= max(log.start, model.start):
                assert found.get(base) == data, f"{log.name} lost {base}: {log.recovery.lines()}"
        assert log.end >= model.acknowledged, log.recovery.lines()
        model.has_gap = model.has_gap or (model.is_truncating and bool(log.recovery.losses))
        assert model.has_gap or not log.recovery.losses, log.recovery.lines()
        model.survived(log)


def lives(
    world: World, *, breaks_disk: bool = False, leaves_out: bool = False, breaks_journal: bool = False
) -> Iterator[None]:
    """One crash after the other, the recovery itself among the moments at which power goes."""
    disk, rng = world.disk, world.rng
    world.open()
    while True:
        is_power_cut = rng.random() < (0.5 if breaks_disk else 0.8)
        if is_broken := breaks_disk and rng.random() < 0.7:
            world.break_disk()
        if breaks_journal:
            world.break_journal()
        if is_power_cut and rng.random() < 0.5:
            operation, path_part, number_max = rng.choice(MOMENTS)
            disk.cut_power_in(operation, path_part, number=rng.randint(1, number_max))
        elif is_power_cut:
            disk.power_cut_at = disk.operations + rng.randint(1, 1500)
        try:
            world.live(rng.randint(50, 250))
            if rng.random() < 0.1:
                world.stop()
        except PowerCut:
            is_power_cut = True
        disk.heal()
        disk.power_cut_at = None
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
        if breaks_disk and rng.random() < 0.5:
            world.open_on_a_broken_disk()
        is_whole = not is_power_cut and not is_broken
        while leaves_out and rng.random() < 0.6:
            world.live_without_a_log()
            is_whole = False
        world.replays += disk.exists(f"{PATH}/tidelog-journal.0")
        world.open()
        world.check(all_of_it=is_whole)
        yield


@pytest.mark.parametrize("seed", range(40))
def test_what_was_acknowledged_is_there_and_nothing_else(seed: int) -> None:
    world = World(seed)
    each = lives(world)
    for _ in range(8):
        next(each)
    assert world.shared > 10


@pytest.mark.parametrize("seed", range(24))
def test_a_disk_that_fails_and_recovers_loses_nothing(seed: int) -> None:
    """After a failed sync the process starts anew, and the pages that were dropped count as clean."""
    world = World(seed)
    each = lives(world, breaks_disk=True)
    for _ in range(8):
        next(each)
    assert world.shared > 10


@pytest.mark.parametrize("seed", range(24))
def test_a_log_whose_files_fail_at_a_start_loses_nothing_while_others_are_served(seed: int) -> None:
    world = World(seed)
    each = lives(world, leaves_out=True)
    for _ in range(8):
        next(each)
    assert world.shared > 10


@pytest.mark.parametrize("seed", range(12))
def test_a_log_that_is_left_out_and_a_journal_that_fails_lose_nothing_together(seed: int) -> None:
    """In one life the journal of the last one is ended, another begins, fails and begins anew."""
    world = World(seed)
    each = lives(world, leaves_out=True, breaks_journal=True, breaks_disk=seed % 2 == 1)
    for _ in range(8):
        next(each)
    assert world.restarts > 0


@pytest.mark.parametrize("seed", range(12))
def test_a_journal_that_fails_and_begins_anew_loses_nothing(seed: int) -> None:
    world = World(seed)
    each = lives(world, breaks_journal=True)
    for _ in range(8):
        next(each)
    assert world.restarts > 0


WHOLE = test_what_was_acknowledged_is_there_and_nothing_else
LEFT_OUT = test_a_log_whose_files_fail_at_a_start_loses_nothing_while_others_are_served
ANEW = test_a_journal_that_fails_and_begins_anew_loses_nothing


def voids_nothing(*_: object) -> None:
    """A rule that is broken on purpose: truncated entries stay in the journal."""


def replays_nothing(*_: object) -> JournalReplay:
    return JournalReplay()


def ends_with_voids(log_dir: LogDir, files: LogDirFiles) -> None:
    """The next journal gets the voids of this one with the next log that is created."""
    log_dir._forget_journal(files)


@pytest.mark.parametrize(
    ("name", "broken", "test"),
    [
        ("storage.log.PartitionLog.leave_journal", voids_nothing, WHOLE),
        ("broker.log_dirs.log_dir.replay", replays_nothing, WHOLE),
        ("broker.log_dirs.log_dir.LogDir._void_journal", voids_nothing, WHOLE),
        ("storage.journal.unfinished_replay.UnfinishedReplay.write_voids", voids_nothing, LEFT_OUT),
        ("storage.journal.unfinished_replay.UnfinishedReplay.finish", voids_nothing, LEFT_OUT),
        ("storage.journal.journal.Journal.is_unneeded", True, ANEW),
        ("broker.log_dirs.log_dir.LogDir._end_failed_journal", ends_with_voids, LEFT_OUT),
    ],
    ids=[
        "truncations",
        "replay",
        "replaced logs",
        "served logs",
        "a log left out",
        "a journal begun too soon",
        "voids of an earlier journal",
    ],
)
def test_the_check_can_fail(
    name: str, broken: object, test: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"tidelog.{name}", broken)
    for seed in range(60):
        try:
            test(seed)
        except (AssertionError, KafkaError):
            return
    pytest.fail("no seed noticed")
