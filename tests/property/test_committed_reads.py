"""What a reader of committed records gets is what was committed: through rolls, cuts, crashes and compaction.

The reader does what consumers do with the aborted transactions that a fetch names. The model is a plain list.
"""

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rigs import log as log_rig
from tests.rigs.log import DIRECTORY, NOW_MS
from tidelog.base.ids import Offset
from tidelog.storage.compaction import cleaned_segment, transaction_outcomes
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.storage.producers import aborted_transactions
from tidelog.storage.producers.state import ProducerState
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.batch import iter_batches
from tidelog.wire.record import ControlType, read_control, read_records

PRODUCERS = 3
CONFIG = LogConfig(compact=True, delete=False, index_interval_bytes=200, delete_retention_ms=1)

OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, PRODUCERS - 1)),
        st.tuples(st.just("write"), st.integers(0, PRODUCERS - 1)),
        st.tuples(st.just("commit"), st.integers(0, PRODUCERS - 1)),
        st.tuples(st.just("abort"), st.integers(0, PRODUCERS - 1)),
        st.tuples(st.just("plain"), st.just(0)),
        st.tuples(st.sampled_from(["roll", "sync", "reopen", "crash", "compact"]), st.just(0)),
        st.tuples(st.just("truncate"), st.integers(1, 6)),
    ),
    max_size=40,
)


class Entry(NamedTuple):
    offset: Offset
    producer: int | None
    token: bytes | None
    """None: a marker."""
    commit: bool = False


class Partition:
    def __init__(self, seed: int) -> None:
        self.disk = MemoryDisk(seed)
        self.log = log_rig.open_log(self.disk, CONFIG)
        self.entries: list[Entry] = []
        self.count = 0
        self.sequences = [0] * PRODUCERS
        self.day = 0
        self.synced = 0

    def do(self, what: str, number: int) -> None:
        getattr(self, f"do_{what}")(number)

    def do_write(self, number: int) -> None:
        token = self._token()
        known = self.log.producers.get(number)
        sequence = 0 if known is None else known.last_sequence + 1
        offset = log_rig.append(
            self.log, [(token, token)], producer_id=number, sequence=sequence, transactional=True
        )
        self.entries.append(Entry(offset, number, token))

    def do_plain(self, _: int) -> None:
        token = self._token()
        self.entries.append(Entry(log_rig.append(self.log, [(token, token)]), None, token))

    def _token(self) -> bytes:
        self.count += 1
        return b"%d" % self.count

    def do_commit(self, number: int) -> None:
        self._end(number, ControlType.COMMIT)

    def do_abort(self, number: int) -> None:
        self._end(number, ControlType.ABORT)

    def _end(self, number: int, kind: ControlType) -> None:
        offset = log_rig.end_transaction(self.log, number, kind)
        self.entries.append(Entry(offset, number, None, kind is ControlType.COMMIT))

    def do_roll(self, _: int) -> None:
        self.log.roll(NOW_MS)

    def do_sync(self, _: int) -> None:
        flush = self.log.begin_flush()
        if flush is not None:
            flush.run()
            self.log.finish_flush(flush)
        self.synced = self.log.recovery_point

    def do_truncate(self, count: int) -> None:
        floor = self.log.compaction.cleaned_to or 0
        if self.log.end - count >= floor:  # what was compacted was safe on every replica
            self.log.truncate_to(self.log.end - count)
            self.synced = min(self.synced, self.log.recovery_point)
            self._forget_lost()

    def do_reopen(self, _: int) -> None:
        self.log.close()
        self._open(clean=True)

    def do_crash(self, _: int) -> None:
        self.disk.crash()
        self._open(clean=False)
        self._forget_lost()

    def _open(self, *, clean: bool) -> None:
        cleaned_to = self.log.compaction.cleaned_to
        self.log = PartitionLog.open(
            self.disk, DIRECTORY, CONFIG, now_ms=NOW_MS, clean=clean, recovery_point=self.synced
        )
        self.log.compaction.cleaned_to = cleaned_to
        self.synced = min(self.synced, self.log.end) if not clean else self.log.end

    def _forget_lost(self) -> None:
        """A crash may have left a hole, where nobody else has the log."""
        left = {
            offset
            for header, _ in log_rig.batches(self.log)
            for offset in range(header.base_offset, header.next_offset)
        }
        self.entries = [entry for entry in self.entries if entry.offset in left]

    def do_compact(self, _: int) -> None:
        """All that is synced is safe; a day passes, so that markers without data may go."""
        self.do_sync(0)
        self.day += 1
        log_rig.compact(self.log, now_ms=NOW_MS + self.day * 86_400_000)

    # --- what must be so

    def committed(self) -> list[tuple[Offset, bytes]]:
        found = []
        for place, entry in enumerate(self.entries):
            if entry.token is None:
                continue
            later = self.entries[place:]
            ends = [one.commit for one in later if one.token is None and one.producer == entry.producer]
            if entry.producer is None or (ends and ends[0]):
                found.append((entry.offset, entry.token))
        return found

    def first_open(self) -> Offset:
        ended: set[int | None] = set()
        first = self.log.end
        for entry in reversed(self.entries):
            if entry.token is None:
                ended.add(entry.producer)
            elif entry.producer is not None and entry.producer not in ended:
                first = entry.offset
        return first

    def read(self, start: Offset, max_bytes: int) -> list[tuple[Offset, bytes]]:
        """As a consumer that reads committed records."""
        unstable = self.log.first_unstable(self.log.end)
        end = self.log.end if unstable is None else unstable
        got: list[tuple[Offset, bytes]] = []
        while start < end and (found := self.log.read(start, max_bytes, end=end)) is not None:
            named = sorted(
                (first, number) for number, first in self.log.producer_state.aborted_in(found, start, end)
            )
            hidden: set[int] = set()
            data = memoryview(found.slice.read())
            for position, header in iter_batches(data):
                batch = data[position : position + header.size]
                while named and named[0][0] <= header.last_offset:
                    hidden.add(named.pop(0)[1])
                if header.is_control:
                    control = read_control(batch)
                    if control is not None and control.type == ControlType.ABORT:
                        hidden.discard(header.producer_id)
                elif not (header.is_transactional and header.producer_id in hidden):
                    got += [
                        (one.offset, one.value or b"") for one in read_records(batch) if one.offset >= start
                    ]
                start = header.next_offset
        return got

    def check(self, max_bytes: int) -> None:
        first_open = self.first_open()
        unstable = self.log.first_unstable(self.log.end)
        assert unstable == (None if first_open == self.log.end else first_open)
        committed = [one for one in self.committed() if one[0] < first_open]
        for start in {self.log.start, self.log.end // 2, max(self.log.start, self.log.end - 3)}:
            assert self.read(start, max_bytes) == [one for one in committed if one[0] >= start]


def live(operations: list[tuple[str, int]], seed: int, max_bytes: int) -> None:
    partition = Partition(seed)
    for what, number in operations:
        partition.do(what, number)
        partition.check(max_bytes)


@settings(max_examples=120)
@given(OPERATIONS, st.integers(0, 5), st.sampled_from([1, 300, 1 << 20]))
def test_readers_get_what_was_committed(operations: list[tuple[str, int]], seed: int, max_bytes: int) -> None:
    live(operations, seed, max_bytes)


ABORTED = [("write", 0), ("plain", 0), ("abort", 0), ("write", 0), ("commit", 0), ("plain", 0)]


def test_an_index_that_is_not_written_shows_aborted_records(monkeypatch: pytest.MonkeyPatch) -> None:
    live(ABORTED, 0, 1 << 20)
    monkeypatch.setattr(aborted_transactions.AbortedTransactions, "add", lambda self, base, entry: "")
    with pytest.raises(AssertionError):
        live(ABORTED, 0, 1 << 20)


def test_an_index_that_a_truncation_forgets_hides_committed_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its marker is gone; what the producer commits after that would be taken for aborted."""
    script = [("write", 0), ("abort", 0), ("truncate", 1), ("commit", 0), ("plain", 0)]
    live(script, 0, 1 << 20)
    monkeypatch.setattr(aborted_transactions.AbortedTransactions, "truncate_from_end", lambda *_: None)
    with pytest.raises(AssertionError):
        live(script, 0, 1 << 20)


def test_too_short_a_look_shows_aborted_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        ProducerState, "aborted_in", lambda self, found, start, end: self.aborted_between(start, start + 1)
    )
    with pytest.raises(AssertionError):
        live([("plain", 0), *ABORTED], 0, 1 << 20)


def test_an_entry_that_outlives_its_marker_hides_committed_records(monkeypatch: pytest.MonkeyPatch) -> None:
    script = [("write", 0), ("abort", 0), ("write", 0), ("commit", 0), ("roll", 0)]
    script += [("compact", 0)] * 4
    live(script, 0, 1 << 20)
    monkeypatch.setattr(cleaned_segment.CleanedSegment, "forget_marker", lambda *_: None)
    with pytest.raises(AssertionError):
        live(script, 0, 1 << 20)


def test_aborted_records_that_displace_others_are_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    script = [
        ("write", 0),
        ("commit", 0),
        ("write", 1),
        ("roll", 0),
        ("abort", 1),
        ("roll", 0),
        ("compact", 0),
    ]
    live(script, 0, 1 << 20)
    monkeypatch.setattr(transaction_outcomes.TransactionOutcomes, "is_aborted", lambda *_: True)
    with pytest.raises(AssertionError):
        live(script, 0, 1 << 20)
