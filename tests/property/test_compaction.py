"""Compaction against a plain model: a list of records, and for each key the newest."""

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rigs import log as log_rig
from tests.rigs.log import NOW_MS, append, compact, open_log
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.record import ControlType, Record

RETENTION_MS = 1000
KEYS = [b"a", b"b", b"c", b"d" * 50, b"", None]

pairs = st.lists(
    st.tuples(st.sampled_from(KEYS), st.one_of(st.none(), st.binary(max_size=30))), min_size=1, max_size=5
)
transactions = st.tuples(
    st.just("transaction"), pairs, st.sampled_from([ControlType.COMMIT, ControlType.ABORT])
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), pairs, st.integers(0, 4), st.booleans()),
        transactions,
        st.tuples(st.just("roll")),
        st.tuples(st.just("compact"), st.integers(1, 12)),
        st.tuples(st.just("wait"), st.integers(1, 700)),
        st.tuples(st.just("reopen")),
    ),
    min_size=1,
    max_size=25,
)


@dataclass
class Model:
    """Every record that was ever written; what was aborted counts for nobody."""

    written: list[Record] = field(default_factory=list)
    aborted: set[int] = field(default_factory=set)

    def newest(self) -> dict[bytes, Record]:
        return {
            record.key: record
            for record in self.written
            if record.key is not None and record.offset not in self.aborted
        }

    def check(self, log, compacted_to: int) -> None:
        found = log_rig.records(log)
        by_offset = {record.offset: record for record in self.written}
        offsets = [record.offset for record in found]
        assert offsets == sorted(set(offsets))
        assert all(record == by_offset[record.offset] for record in found)
        kept = set(offsets)
        newest = self.newest()
        for record in newest.values():
            assert record.offset in kept or record.value is None
        for record in self.written:
            if record.offset >= compacted_to:
                assert record.offset in kept
            elif record.key is None:
                assert record.offset not in kept
        committed = {record.offset: record for record in found if record.offset not in self.aborted}
        seen = {record.key: record.value for record in committed.values() if record.key is not None}
        state = {key: value for key, value in seen.items() if value is not None}
        assert state == {key: record.value for key, record in newest.items() if record.value is not None}


@settings(max_examples=150)
@given(steps, st.sampled_from([150, 400, 1 << 20]))
def test_every_newest_value_stays_and_nothing_is_invented(script, segment_bytes):
    config = LogConfig(
        compact=True,
        delete=False,
        segment_bytes=segment_bytes,
        index_interval_bytes=50,
        delete_retention_ms=RETENTION_MS,
    )
    disk = MemoryDisk()
    log = open_log(disk, config)
    model = Model()
    now_ms, compacted_to = NOW_MS, 0
    sequences = {1: 0, 2: 0}
    for step in script:
        match step:
            case ("append", records, codec, idempotent):
                producer = {"producer_id": 1, "sequence": sequences[1]} if idempotent else {}
                base = append(log, records, codec=codec, timestamp=now_ms, **producer)
                sequences[1] += len(records) if idempotent else 0
                model.written += [
                    Record(base + n, now_ms + n, key, value, []) for n, (key, value) in enumerate(records)
                ]
            case ("transaction", records, outcome):
                base = append(
                    log, records, timestamp=now_ms, producer_id=2, sequence=sequences[2], transactional=True
                )
                sequences[2] += len(records)
                log_rig.end_transaction(log, 2, outcome)
                model.written += [
                    Record(base + n, now_ms + n, key, value, []) for n, (key, value) in enumerate(records)
                ]
                if outcome == ControlType.ABORT:
                    model.aborted |= set(range(base, base + len(records)))
            case ("roll",):
                log.roll(now_ms)
            case ("compact", keys):
                compact(log, now_ms=now_ms, key_bytes_max=keys * 208)
                compacted_to = max(compacted_to, log.compaction.cleaned_to)
                model.check(log, compacted_to)
            case ("wait", ms):
                now_ms += ms
            case ("reopen",):
                cleaned_to = log.compaction.cleaned_to
                log = open_log(disk, config)
                log.compaction.cleaned_to = cleaned_to
                assert log.recovery.lines() == []
                model.check(log, compacted_to)
    log.roll(now_ms)
    end = log.end
    for _ in range(2):  # tombstones get their horizon, then go
        compact(log, now_ms=now_ms)
        now_ms += RETENTION_MS
    compact(log, now_ms=now_ms)
    model.check(log, end)  # which is all of it
    assert log.end == end
    assert all(record.value is not None for record in log_rig.records(log))
    committed = [record for record in log_rig.records(log) if record.offset not in model.aborted]
    assert committed == sorted(record for record in model.newest().values() if record.value is not None)
    for number, expected in sequences.items():
        known = log.producers.get(number)
        assert (known.last_sequence + 1 if known else 0) == expected
