"""Power is cut at every single disk operation of a workload; what was flushed must be there afterwards."""

import random

import pytest

from tidelog.base.errors import KafkaError
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk, PowerCut
from tidelog.wire.batch import check_batches, crc_ok, iter_batches
from tidelog.wire.record import Record, write_batch

LOG_DIR = "/data/topic-0"
CONFIG = LogConfig(segment_bytes=3000, index_interval_bytes=300, file_delete_delay_ms=0, retention_ms=-1)


class Workload:
    """A broker's life with one log. `durable` is what it may have promised to others."""

    def __init__(self, disk: MemoryDisk, seed: int, config: LogConfig = CONFIG) -> None:
        self.disk = disk
        self.config = config
        self.rng = random.Random(seed)
        self.written: dict[int, list[bytes]] = {}
        self.durable = 0
        self.start = 0
        self.ends: list[int] = [0]
        self.sequence = 0
        self.truncated = False

    def open(self, clean: bool = False) -> PartitionLog:
        log = PartitionLog.open(
            self.disk,
            LOG_DIR,
            self.config,
            now_ms=1_000,
            clean=clean,
            recovery_point=self.durable,
            log_start=self.start,
        )
        producer = log.producers.get(7)
        self.sequence = producer.last_sequence + 1 if producer else 0
        return log

    def run(self, steps: int, *, truncate: bool = False) -> None:
        log = self.open()
        for step in range(steps):
            action = self.rng.choices(
                ["append", "flush", "roll", "trim", "truncate", "reopen"],
                [12, 4, 1, 1, 1 if truncate else 0, 1],
            )[0]
            if action == "append":
                self.append(log, step)
            elif action == "flush":
                self.flush(log)
            elif action == "roll":
                log.roll(now_ms=1_000)
            elif action == "trim":
                self.trim(log)
            elif action == "truncate":
                self.truncate(log)
            else:
                log.close()
                self.durable = log.recovery_point
                log = self.open(clean=True)

    def append(self, log: PartitionLog, step: int) -> None:
        count = self.rng.randint(1, 5)
        records = [
            Record(i, 1_000 + step, b"key", self.rng.randbytes(self.rng.choice((10, 10, 100, 600))))
            for i in range(count)
        ]
        batch = write_batch(records, producer_id=7, producer_epoch=0, base_sequence=self.sequence)
        view = memoryview(batch)
        base = log.end
        # What is in flight when power goes may be there or not.
        self.written.setdefault(base, []).append(b"")
        try:
            log.append(view, check_batches(view), leader_epoch=step // 10, now_ms=1_000)
        finally:
            self.written[base][-1] = bytes(batch)
        self.sequence += count
        self.ends.append(log.end)

    def flush(self, log: PartitionLog) -> None:
        flush = log.begin_flush()
        if flush is not None:
            flush.run()
            log.finish_flush(flush)
            self.durable = log.recovery_point

    def trim(self, log: PartitionLog) -> None:
        start = self.rng.randint(log.start, min(log.end, log.start + 10))
        if start <= self.durable:  # the high watermark is what is durable
            self.start = max(self.start, start)
            log.delete_before(start)
            for doomed in log.retire(now_ms=1_000, limit=self.durable):
                doomed.run()

    def truncate(self, log: PartitionLog) -> None:
        offset = self.rng.randint(max(log.start, log.end - 10), log.end)
        self.truncated = True
        # The batch that holds the offset goes as a whole.
        boundary = max((base for base in self.written if base <= offset), default=0)
        self.durable = min(self.durable, boundary)
        log.truncate_to(offset)
        producer = log.producers.get(7)
        self.sequence = producer.last_sequence + 1 if producer else 0


def contents(log: PartitionLog) -> dict[int, bytes]:
    """Every batch from the start of the log, read in small steps."""
    found: dict[int, bytes] = {}
    offset = log.start
    while (read := log.read(offset, 700, end=log.end)) is not None:
        data = read.slice.read()
        assert read.slice.length == len(data)
        for position, header in iter_batches(data):
            assert crc_ok(data, position, header)
            found[header.base_offset] = data[position : position + header.size]
            offset = header.next_offset
    return found


def check(workload: Workload, log: PartitionLog) -> None:
    found = contents(log)
    expected = None
    for base, data in found.items():
        assert data in workload.written[base], f"batch at {base} was never written like this"
        if expected is not None and expected != base:
            told = log.recovery.damages or log.recovery.gaps or log.recovery.kept
            assert told, f"silent gap before {base}"
        (header,) = (header for _, header in iter_batches(data))
        expected = header.next_offset
        last_sequence = header.last_sequence
    if found:
        producer = log.producers.get(7)
        assert producer is not None
        assert producer.last_sequence == last_sequence
    assert log.end >= workload.durable, log.recovery.lines()
    assert log.start >= workload.start
    if not workload.truncated:
        for base, versions in workload.written.items():
            (header,) = (header for _, header in iter_batches(versions[-1]))
            if log.start <= base and header.next_offset <= workload.durable:
                assert base in found, f"flushed batch {base} is gone ({log.recovery.lines()})"


def after_crash(workload: Workload) -> None:
    log = workload.open()
    check(workload, log)
    before = contents(log)
    end, producer = log.end, log.producers.get(7)
    log.close()
    workload.durable = log.recovery_point
    again = workload.open(clean=True)
    assert contents(again) == before
    assert again.end == end
    assert again.recovery.is_clean
    known = again.producers.get(7)
    assert (known and known.last_sequence) == (producer and producer.last_sequence)
    workload.append(again, 1000)
    assert len(contents(again)) == len(before) + 1


def run_until(disk: MemoryDisk, seed: int, cut_at: int | None, *, truncate: bool) -> Workload:
    disk.make_dirs("/data")
    disk.sync_dir("/")
    disk.power_cut_at = cut_at
    workload = Workload(disk, seed)
    try:
        workload.run(30, truncate=truncate)
    except PowerCut:
        pass
    return workload


@pytest.mark.parametrize("truncate", [False, True], ids=["append only", "with truncation"])
@pytest.mark.parametrize("seed", range(3))
def test_crash_at_every_operation(seed: int, truncate: bool) -> None:
    disk = MemoryDisk(seed)
    run_until(disk, seed, None, truncate=truncate)
    operations = disk.operations
    assert operations > 100
    for cut_at in range(3, operations + 1):
        disk = MemoryDisk(seed * 1000 + cut_at)
        workload = run_until(disk, seed, cut_at, truncate=truncate)
        disk.crash()
        try:
            after_crash(workload)
        except KafkaError as error:  # pragma: no cover
            raise AssertionError(f"crash at {cut_at}") from error


@pytest.mark.parametrize("seed", range(2))
def test_crash_at_every_operation_of_recovery(seed: int) -> None:
    disk = MemoryDisk(seed)
    run_until(disk, seed, None, truncate=False)
    for cut_at in range(10, disk.operations, 9):
        finished = False
        second_cut = 0
        while not finished:
            second_cut += 1
            disk = MemoryDisk(seed * 1000 + cut_at)
            workload = run_until(disk, seed, cut_at, truncate=False)
            disk.crash()
            disk.power_cut_at = disk.operations + second_cut
            try:
                workload.open()
                finished = True
                disk.power_cut_at = None
            except PowerCut:
                disk.crash()
            after_crash(workload)
