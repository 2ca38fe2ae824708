"""The log against the obvious, a list of batches: random lives with cuts at both ends and every restart."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.batch import BatchHeader, check_batches, iter_batches
from tidelog.wire.record import Record, write_batch

LOG_DIR = "/data/topic-0"
CONFIG = LogConfig(
    segment_bytes=1_500,
    segment_ms=1_000,
    index_interval_bytes=250,
    index_bytes_max=8 * 12,
    retention_ms=-1,
    retention_bytes=4_000,
    file_delete_delay_ms=0,
    producer_id_expiration_ms=2**62,
)
PRODUCER = 7


class LogAndList(RuleBasedStateMachine):
    make_disk: type[MemoryDisk] = MemoryDisk

    def __init__(self) -> None:
        super().__init__()
        self.model: list[tuple[BatchHeader, bytes]] = []
        self.start = self.end = self.flushed = 0
        self.epoch = 0
        self.now_ms = 1_000

    @initialize(seed=st.integers(0, 2**32))
    def begin(self, seed: int) -> None:
        self.disk = self.make_disk(seed)
        self.disk.make_dirs("/data")
        self.disk.sync_dir("/")
        self.log = self.open()

    def open(self, *, clean: bool = False) -> PartitionLog:
        return PartitionLog.open(
            self.disk,
            LOG_DIR,
            CONFIG,
            now_ms=self.now_ms,
            recovery_point=self.flushed,
            clean=clean,
            log_start=self.start,
        )

    def next_sequence(self) -> int:
        known = self.log.producers.get(PRODUCER)
        return known.last_sequence + 1 if known else 0

    @rule(
        count=st.integers(1, 4),
        size=st.sampled_from([0, 10, 300, 2_000]),
        step_ms=st.integers(-50, 400),
        idempotent=st.booleans(),
    )
    def append(self, count: int, size: int, step_ms: int, idempotent: bool) -> None:
        self.now_ms = max(0, self.now_ms + step_ms)
        records = [Record(n, self.now_ms + n, None, bytes(size)) for n in range(count)]
        producer = (PRODUCER, 0, self.next_sequence()) if idempotent else (-1, -1, -1)
        batch = write_batch(
            records, producer_id=producer[0], producer_epoch=producer[1], base_sequence=producer[2]
        )
        appended = self.log.append(
            memoryview(batch), check_batches(batch), leader_epoch=self.epoch, now_ms=self.now_ms
        )
        assert (appended.base, appended.last) == (self.end, self.end + count - 1)
        ((_, header),) = iter_batches(batch)
        self.model.append((header, bytes(batch)))
        self.end += count

    @rule(gap=st.integers(0, 40))
    def follow(self, gap: int) -> None:
        base = self.end + gap
        batch = write_batch(
            [Record(base, self.now_ms, None, b"copied")], base_offset=base, leader_epoch=self.epoch
        )
        batches = list(iter_batches(batch))
        self.log.append_as_follower(memoryview(batch), batches, now_ms=self.now_ms)
        self.model.append((batches[0][1], bytes(batch)))
        self.end = base + 1

    @rule()
    def elect(self) -> None:
        self.epoch += 1

    @rule()
    def flush(self) -> None:
        flush = self.log.begin_flush()
        if flush is not None:
            flush.run()
            self.log.finish_flush(flush)
        self.flushed = self.log.recovery_point
        assert self.flushed >= self.end

    @rule()
    def roll(self) -> None:
        self.log.roll(self.now_ms)

    @rule(back=st.integers(0, 15))
    def truncate(self, back: int) -> None:
        offset = max(self.start, self.end - back)
        for doomed in self.log.truncate_to(offset):
            doomed.run()
        self.model = [(header, data) for header, data in self.model if header.last_offset < offset]
        if offset < self.end:
            left = self.model[-1][0].next_offset if self.model else 0
            assert left <= self.log.end <= offset
            self.end = self.log.end
            self.start = min(self.start, self.end)
        self.flushed = min(self.flushed, self.end)

    @rule(forward=st.integers(0, 15))
    def delete_records(self, forward: int) -> None:
        self.start = min(self.end, self.start + forward)
        self.log.delete_before(self.start)

    @rule()
    def retire(self) -> None:
        before = self.log.size_bytes
        for doomed in self.log.retire(self.now_ms):
            doomed.run()
        if before != self.log.size_bytes and self.log.start > self.start:
            assert self.log.size_bytes >= CONFIG.retention_bytes
        self.start = self.log.start

    @rule()
    def restart(self) -> None:
        self.log.close()
        self.flushed = self.log.recovery_point
        self.log = self.open(clean=True)
        assert not self.log.recovery.torn_writes
        assert not self.log.recovery.damages
        # A log that ends behind a gap has no batch that shows its end: then its tail is looked at.
        ends_with_a_batch = not self.model or self.model[-1][0].next_offset == self.end
        assert self.log.recovery.scanned_bytes == 0 or not ends_with_a_batch

    @rule()
    def kill(self) -> None:
        """The process dies; the page cache does not."""
        self.log = self.open()
        assert not self.log.recovery.torn_writes
        assert not self.log.recovery.damages

    @rule()
    def lose_power(self) -> None:
        self.disk.crash()
        self.log = self.open()
        assert self.log.end >= self.flushed
        left = {header.base_offset: data for header, data in self.read_all()}
        for header, data in self.model:
            if header.last_offset < self.start:
                continue
            if header.last_offset < self.flushed:
                assert left[header.base_offset] == data
            assert left.get(header.base_offset, data) == data
        self.model = [(header, data) for header, data in self.model if header.base_offset in left]
        self.end = self.log.end
        self.start = self.log.start

    @precondition(lambda self: self.end > self.start)
    @rule(place=st.floats(0, 1), max_bytes=st.sampled_from([0, 150, 700, 10_000]), hide=st.integers(0, 5))
    def read(self, place: float, max_bytes: int, hide: int) -> None:
        offset = self.start + int(place * (self.end - self.start))
        end = max(self.start, self.end - hide)
        read = self.log.read(offset, max_bytes, end=end)
        visible = [
            (header, data)
            for header, data in self.model
            if header.last_offset >= offset and header.last_offset < end
        ]
        first_hidden = min((h.base_offset for h, _ in self.model if h.last_offset >= end), default=self.end)
        visible = [(header, data) for header, data in visible if header.base_offset < first_hidden]
        if read is None:
            assert not visible or offset >= end
            return
        data = read.slice.read()
        found = [header for _, header in iter_batches(data)]
        assert found[0].base_offset == read.first_batch_offset == visible[0][0].base_offset
        assert data == b"".join(data for _, data in visible)[: len(data)]
        assert sum(header.size for header in found) == len(data)
        assert len(data) <= max(max_bytes, found[0].size)

    @precondition(lambda self: bool(self.model))
    @rule(place=st.floats(0, 1))
    def find_time(self, place: float) -> None:
        wanted = 950 + int(place * max(0, self.now_ms - 900))
        times = [
            (header.base_offset + n, header.base_timestamp + n)
            for header, _ in self.model
            for n in range(header.record_count)
            if header.base_offset + n >= self.start
        ]
        expected = next(((offset, time) for offset, time in times if time >= wanted), None)
        found = self.log.find_by_time(wanted)
        assert (found and (found.offset, found.timestamp)) == expected

    def read_all(self) -> list[tuple[BatchHeader, bytes]]:
        found = []
        offset = self.log.start
        while (read := self.log.read(offset, 600, end=self.log.end)) is not None:
            data = read.slice.read()
            for position, header in iter_batches(data):
                found.append((header, data[position : position + header.size]))
                offset = header.next_offset
        return found

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "log"):
            return
        assert (self.log.start, self.log.end) == (self.start, self.end)
        served = [data for header, data in self.model if header.last_offset >= self.start]
        assert [data for _, data in self.read_all()] == served
        epochs: dict[int, int] = {}
        for header, data in self.model:
            if header.last_offset >= self.start:
                epoch = int.from_bytes(data[12:16], "big")
                epochs.setdefault(epoch, max(self.start, header.base_offset))
        assert set(epochs) <= {epoch for epoch, _ in self.log.leader_epochs.entries}


LogAndList.TestCase.settings = settings(max_examples=40, stateful_step_count=40, report_multiple_bugs=False)
TestLogAndList = LogAndList.TestCase
