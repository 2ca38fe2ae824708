"""Compaction of one log: what stays, what goes, and that offsets, order and producers are as they were."""

import errno

import pytest

from tests.rigs import log as log_rig
from tests.rigs.log import DIRECTORY, NOW_MS, append, compact, open_log
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.batch import read_header
from tidelog.wire.compression import Codec
from tidelog.wire.record import ControlType, Record, read_records, write_batch

DAY_MS = 86_400_000
CONFIG = LogConfig(compact=True, delete=False, segment_bytes=1 << 20, index_interval_bytes=64)


@pytest.fixture
def disk():
    return MemoryDisk()


@pytest.fixture
def log(disk):
    return open_log(disk, CONFIG)


def offsets(log):
    return [record.offset for record in log_rig.records(log)]


def test_the_newest_value_of_each_key_stays_at_its_offset(log):
    append(log, [(b"a", b"1"), (b"b", b"1"), (b"a", b"2")])
    append(log, [(b"c", b"1"), (b"b", b"2")])
    log.roll(NOW_MS)
    compaction = compact(log)
    assert [(r.offset, r.key, r.value) for r in log_rig.records(log)] == [
        (2, b"a", b"2"),
        (3, b"c", b"1"),
        (4, b"b", b"2"),
    ]
    assert compaction.records_removed == 2
    assert compaction.end == log.compaction.cleaned_to == 5
    assert log.end == 5


def test_batches_keep_their_range_of_offsets(log):
    append(log, [(b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"b", b"2")])
    append(log, [(b"b", b"3")])
    log.roll(NOW_MS)
    compact(log)
    assert [(h.base_offset, h.last_offset, h.record_count) for h, _ in log_rig.batches(log)] == [
        (0, 3, 1),
        (4, 4, 1),
    ]
    assert log.read(0, 1 << 20, end=log.end).first_batch_offset == 0


def test_the_active_segment_is_not_touched(log):
    append(log, [(b"a", b"1")])
    log.roll(NOW_MS)
    append(log, [(b"a", b"2")])
    append(log, [(b"a", b"3")])
    compact(log)
    assert offsets(log) == [0, 1, 2]
    log.roll(NOW_MS)
    compact(log)
    assert offsets(log) == [2]


@pytest.mark.parametrize("codec", list(Codec))
def test_a_batch_is_compressed_again_by_its_own_codec(log, codec):
    headers = [("h", b"1"), ("none", None)]
    append(log, [(b"k%d" % n, b"v" * 100) for n in range(50)], codec=codec, headers=headers)
    append(log, [(b"k%d" % n, b"new") for n in range(0, 50, 2)], codec=codec)
    log.roll(NOW_MS)
    compact(log)
    (first, batch), (second, _) = log_rig.batches(log)
    assert first.codec == second.codec == codec
    assert first.record_count == 25
    assert [(r.offset, r.key, r.timestamp, r.headers) for r in read_records(batch)] == [
        (n, b"k%d" % n, NOW_MS + n, headers) for n in range(1, 50, 2)
    ]
    assert first.max_timestamp == NOW_MS + 49
    assert first.base_timestamp == NOW_MS


def test_untouched_batches_keep_every_byte(log):
    append(log, [(b"a", b"1"), (b"b", b"1")], codec=Codec.ZSTD)
    append(log, [(b"c", b"1"), (b"c", b"2")])
    log.roll(NOW_MS)
    before = bytes(next(log_rig.batches(log))[1])
    compact(log)
    assert bytes(next(log_rig.batches(log))[1]) == before


def test_a_log_without_duplicates_is_left_alone(disk, log):
    append(log, [(b"a", b"1"), (b"b", b"1")])
    log.roll(NOW_MS)
    segments, names = log.segments, disk.names(DIRECTORY)
    compaction = compact(log)
    assert log.segments == segments
    assert disk.names(DIRECTORY) == names
    assert compaction.end == 2


def test_records_without_a_key_go(log):
    append(log, [(None, b"1"), (b"a", b"1"), (None, None)])
    log.roll(NOW_MS)
    compact(log)
    assert offsets(log) == [1]


def test_log_append_time_is_kept(log):
    batch = write_batch([Record(n, 5, b"k%d" % (n % 2), b"v") for n in range(4)], log_append_time=NOW_MS)
    log.append(memoryview(batch), [(0, read_header(batch))], leader_epoch=0, now_ms=NOW_MS)
    log.roll(NOW_MS)
    compact(log)
    assert [(r.offset, r.timestamp) for r in log_rig.records(log)] == [(2, NOW_MS), (3, NOW_MS)]
    assert next(log_rig.batches(log))[0].is_log_append_time


# Tombstones


def test_a_tombstone_stays_for_its_time_after_the_first_compaction_saw_it(log):
    append(log, [(b"a", b"1"), (b"b", b"1")])
    append(log, [(b"a", None), (b"c", b"1")], timestamp=NOW_MS - 9 * DAY_MS)
    log.roll(NOW_MS)
    compact(log, now_ms=NOW_MS)
    assert [(r.offset, r.value) for r in log_rig.records(log)] == [(1, b"1"), (2, None), (3, b"1")]
    header = list(log_rig.batches(log))[1][0]
    assert header.has_delete_horizon
    assert header.base_timestamp == NOW_MS + DAY_MS
    compact(log, now_ms=NOW_MS + DAY_MS - 1)
    assert offsets(log) == [1, 2, 3]
    compact(log, now_ms=NOW_MS + DAY_MS)
    assert offsets(log) == [1, 3]


def test_the_horizon_changes_no_timestamp(log):
    append(log, [(b"a", None), (b"b", b"1")], codec=Codec.GZIP, headers=[("h", b"x")])
    log.roll(NOW_MS)
    before = log_rig.records(log)
    compact(log)
    assert log_rig.records(log) == before
    assert next(log_rig.batches(log))[0].max_timestamp == NOW_MS + 1
    compact(log, now_ms=NOW_MS + 1000)  # the horizon is set once
    assert next(log_rig.batches(log))[0].base_timestamp == NOW_MS + DAY_MS


def test_a_tombstone_is_replaced_by_a_newer_value(log):
    append(log, [(b"a", None)])
    append(log, [(b"a", b"2")])
    log.roll(NOW_MS)
    compact(log)
    assert log_rig.values(log) == {b"a": b"2"}
    assert offsets(log) == [1]


def test_tombstones_in_batches_above_the_compacted_part_get_no_horizon(log):
    append(log, [(b"%d" % n, b"1") for n in range(10)])
    append(log, [(b"x", None)])
    log.roll(NOW_MS)
    compaction = compact(log, key_bytes_max=1)  # room for the first batch only
    assert compaction.end == 10
    assert not list(log_rig.batches(log))[1][0].has_delete_horizon


# Memory


def test_what_does_not_fit_into_memory_waits_for_the_next_round(log):
    for _ in range(2):
        for n in range(0, 100, 5):
            append(log, [(b"key-%d" % k, b"v") for k in range(n, n + 5)])
        log.roll(NOW_MS)
    room = 30 * 208
    ends = []
    while not ends or ends[-1] < log.segments[-1].base:
        ends.append(compact(log, key_bytes_max=room).end)
    assert ends == [30, 60, 90, 120, 150, 180, 200]
    assert offsets(log) == list(range(100, 200))


def test_a_first_batch_with_more_keys_than_memory_is_taken_whole(log):
    append(log, [(b"%d" % n, b"1") for n in range(10)])
    append(log, [(b"%d" % n, b"2") for n in range(1, 11)])
    log.roll(NOW_MS)
    assert compact(log, key_bytes_max=1).end == 10
    assert compact(log, key_bytes_max=1).end == 20
    assert offsets(log) == [0, *range(10, 20)]


# Segments


def test_small_segments_become_one(disk, log):
    for n in range(6):
        append(log, [(b"a", b"%d" % n), (b"k%d" % n, b"v")])
        log.roll(NOW_MS)
    compact(log)
    assert [segment.base for segment in log.segments] == [0, 12]
    assert offsets(log) == [1, 3, 5, 7, 9, 10, 11]
    for offset in range(12):
        found = log.read(offset, 1, end=log.end)
        assert found.first_batch_offset <= max(offset, 10) < 12
    assert log.find_by_time(NOW_MS + 1).offset == 1


def test_a_segment_of_which_nothing_is_left_still_reaches_as_far(log):
    append(log, [(b"a", b"1")])
    append(log, [(b"a", b"2")])
    log.roll(NOW_MS)
    append(log, [(b"a", b"3")])
    log.roll(NOW_MS)
    log.configure(LogConfig(compact=True, segment_bytes=100))  # too small to merge them
    compact(log)
    headers = [header for segment in log.segments for _, header in segment.batches_from(0)]
    assert [(h.base_offset, h.record_count) for h in headers] == [(1, 0), (2, 1)]
    assert [h.base_offset for h, _ in log_rig.batches(log)] == [2], "a reader is spared the empty one"
    assert headers[0].max_timestamp == -1
    sizes = [segment.size for segment in log.segments]
    compact(log)
    assert [segment.size for segment in log.segments] == sizes
    log.configure(CONFIG)
    compact(log)
    assert [(h.base_offset, h.record_count) for h, _ in log_rig.batches(log)] == [(2, 1)]


def test_the_compacted_log_opens_again(disk, log):
    for n in range(40):
        append(log, [(b"k%d" % (n % 4), b"v%d" % n), (b"n%d" % n, None)], codec=n % 5)
        if n % 10 == 9:
            log.roll(NOW_MS)
    log.configure(LogConfig(compact=True, segment_bytes=1500, index_interval_bytes=64))
    before = log_rig.values(log)
    compact(log)
    records = log_rig.records(log)
    again = open_log(disk, CONFIG)
    assert log_rig.records(again) == records
    assert log_rig.values(again) == before
    assert again.end == log.end
    assert again.recovery.lines() == []


# Producers


def test_the_last_batch_of_a_producer_outlives_its_records(disk, log):
    append(log, [(b"a", b"1")], producer_id=7, sequence=0)
    append(log, [(b"a", b"2"), (b"b", b"2")], producer_id=7, sequence=1)
    append(log, [(b"a", b"3"), (b"b", b"3"), (b"c", b"3")])
    log.roll(NOW_MS)
    compact(log)
    headers = [header for header, _ in log_rig.batches(log)]
    assert [(h.base_offset, h.last_offset, h.record_count, h.producer_id) for h in headers] == [
        (1, 2, 0, 7),
        (3, 5, 3, -1),
    ]
    again = open_log(disk, CONFIG)  # with its snapshots or from the batches alone
    for name in disk.names(DIRECTORY):
        if name.endswith(".snapshot"):
            disk.remove(f"{DIRECTORY}/{name}")
    rebuilt = open_log(disk, CONFIG)
    for reopened in (again, rebuilt):
        assert reopened.producers.get(7).last_sequence == 2
    assert append(rebuilt, [(b"a", b"2"), (b"b", b"2")], producer_id=7, sequence=1) == 1
    with pytest.raises(KafkaError) as refused:
        append(rebuilt, [(b"a", b"2")], producer_id=7, sequence=9)
    assert refused.value.code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_forgotten_producer_leaves_nothing(log):
    append(log, [(b"a", b"1")], producer_id=7, sequence=0)
    append(log, [(b"a", b"2")])
    log.roll(NOW_MS)
    log.producer_state.expire(NOW_MS + 2 * DAY_MS)
    compact(log)
    assert [header.base_offset for header, _ in log_rig.batches(log)] == [1]


# Transactions


def test_an_aborted_record_displaces_nothing(log):
    append(log, [(b"a", b"committed")])
    append(log, [(b"a", b"aborted")], producer_id=1, sequence=0, transactional=True)
    end_transaction = log_rig.end_transaction
    end_transaction(log, 1, ControlType.ABORT)
    append(log, [(b"b", b"1")])
    append(log, [(b"b", b"2")], producer_id=1, sequence=1, transactional=True)
    end_transaction(log, 1, ControlType.COMMIT)
    log.roll(NOW_MS)
    compact(log)
    assert [(r.offset, r.value) for r in log_rig.records(log)] == [
        (0, b"committed"),
        (4, b"2"),
    ]
    assert [h.base_offset for h, _ in log_rig.batches(log) if h.is_control] == [2, 5]


def test_the_marker_may_lie_beyond_the_compacted_part(log):
    append(log, [(b"a", b"1"), (b"b", b"1")])
    append(log, [(b"a", b"2")], producer_id=1, sequence=0, transactional=True)
    append(log, [(b"b", b"2")], producer_id=2, sequence=0, transactional=True)
    log.roll(NOW_MS)
    log_rig.end_transaction(log, 1, ControlType.ABORT)
    log_rig.end_transaction(log, 2, ControlType.COMMIT)
    compact(log)
    assert offsets(log) == [0, 3]


def test_nothing_at_or_above_an_open_transaction_is_compacted(log):
    append(log, [(b"a", b"1"), (b"a", b"2")])
    log.roll(NOW_MS)
    append(log, [(b"a", b"3")], producer_id=1, sequence=0, transactional=True)
    log.roll(NOW_MS)
    append(log, [(b"a", b"4")])
    log.roll(NOW_MS)
    assert compact(log).end == 2
    assert offsets(log) == [1, 2, 3]


def test_the_indexes_of_aborted_transactions_are_joined(disk, log):
    for number in range(2):
        append(log, [(b"a", b"%d" % number)], producer_id=1, sequence=number, transactional=True)
        log_rig.end_transaction(log, 1, ControlType.ABORT)
        log.roll(NOW_MS)
    aborted = log.producer_state.aborted_between(0, 4)
    compact(log)
    assert [segment.base for segment in log.segments] == [0, 4]
    assert disk.names(DIRECTORY).count("00000000000000000002.txnindex") == 0
    assert log.producer_state.aborted_between(0, 4) == aborted == [(1, 0), (1, 2)]


# Faults


def run(log, *, pace=log_rig.no_pace):
    compaction = log.compaction.begin(log.compaction.cleanable(log.end, NOW_MS), NOW_MS, 1 << 20)
    compaction.map_keys(pace)
    return compaction, [compaction.clean(group, pace) for group in compaction.groups()]


@pytest.fixture
def dirty(log):
    for n in range(4):
        append(log, [(b"a", b"%d" % n), (b"k%d" % n, b"v" * 100)])
        log.roll(NOW_MS)
    return log


def test_a_full_disk_leaves_the_log_as_it_was(disk, dirty):
    names, before = disk.names(DIRECTORY), log_rig.records(dirty)
    disk.fail("write", ".cleaned", error=errno.ENOSPC)
    with pytest.raises(OSError, match="No space"):
        run(dirty)
    assert disk.names(DIRECTORY) == names
    assert log_rig.records(dirty) == before
    assert dirty.offline is None
    disk.heal()
    compact(dirty)
    assert offsets(dirty) == [1, 3, 5, 6, 7]


def test_a_rename_that_fails_before_the_decision_leaves_the_log_as_it_was(disk, dirty):
    _, [cleaned] = run(dirty)
    before = log_rig.records(dirty)
    disk.fail("rename", ".log.cleaned")
    with pytest.raises(OSError, match="error"):
        dirty.compaction.finish(cleaned, NOW_MS)
    assert dirty.offline is None
    assert log_rig.records(dirty) == before
    disk.heal()
    assert log_rig.records(open_log(disk, CONFIG)) == before


def test_a_disk_error_after_the_decision_takes_the_log_offline_and_a_start_finishes_it(disk, dirty):
    _, [cleaned] = run(dirty)
    values = log_rig.values(dirty)
    disk.fail("rename", "0000.log", number=2)
    with pytest.raises(KafkaError):
        dirty.compaction.finish(cleaned, NOW_MS)
    assert dirty.offline is not None
    disk.heal()
    again = open_log(disk, CONFIG)
    assert log_rig.values(again) == values
    assert [segment.base for segment in again.segments] == [0, 8]


def test_a_damaged_batch_is_not_written_anew(disk, dirty):
    segment = dirty.segments[1]
    disk.flip_bit(segment.path + ".log", 80)
    names = disk.names(DIRECTORY)
    with pytest.raises(KafkaError, match=r"00002\.log at 0: its CRC is wrong"):
        run(dirty)
    assert disk.names(DIRECTORY) == names


@pytest.mark.parametrize("bit", [0, 3])
def test_a_batch_with_a_damaged_offset_is_not_believed(disk, dirty, bit):
    disk.flip_bit(dirty.segments[1].path + ".log", 7, bit)  # which no CRC covers
    with pytest.raises(KafkaError, match=r"00002\.log at 0: offset"):
        run(dirty)


def test_it_can_be_stopped_between_batches(disk, dirty):
    class Stop(Exception):
        pass

    names = disk.names(DIRECTORY)
    for limit in range(1, 9):
        left = limit

        def pace(_):
            nonlocal left
            left -= 1
            if left == 0:
                raise Stop

        with pytest.raises(Stop):
            run(dirty, pace=pace)
        assert disk.names(DIRECTORY) == names


def test_the_pace_hears_of_all_that_is_read_and_written(dirty):
    paced = []
    size = dirty.size_bytes
    _, [cleaned] = run(dirty, pace=paced.append)
    assert sum(paced) == 2 * size + cleaned.size


# The log changes meanwhile


def test_a_truncation_makes_the_result_worthless(disk, dirty):
    _, [cleaned] = run(dirty)
    dirty.truncate_to(6)
    before = log_rig.records(dirty)
    assert dirty.compaction.finish(cleaned, NOW_MS) is None
    assert log_rig.records(dirty) == before
    assert not [name for name in disk.names(DIRECTORY) if name.endswith((".cleaned", ".swap"))]


def test_retention_makes_the_result_worthless(dirty):
    _, [cleaned] = run(dirty)
    dirty.delete_before(2)
    dirty.retire(NOW_MS)
    before = log_rig.records(dirty)
    assert dirty.compaction.finish(cleaned, NOW_MS) is None
    assert log_rig.records(dirty) == before


def test_appends_and_rolls_meanwhile_do_not_matter(dirty):
    _, [cleaned] = run(dirty)
    append(dirty, [(b"a", b"new")])
    dirty.roll(NOW_MS)
    assert len(dirty.compaction.finish(cleaned, NOW_MS)) == 4
    assert offsets(dirty) == [1, 3, 5, 6, 7, 8]


def test_deleted_records_stay_deleted(dirty):
    dirty.delete_before(5)
    compact(dirty)
    assert dirty.start == 5
    assert offsets(dirty)[-3:] == [5, 6, 7]


def test_a_slice_that_is_being_sent_stays_readable(dirty):
    found = dirty.read(0, 1 << 20, end=dirty.end)
    before = found.slice.read()
    compact(dirty)
    assert found.slice.read() == before


def test_truncation_takes_back_what_counts_as_clean(dirty):
    compact(dirty)
    assert dirty.compaction.cleaned_to == 8
    dirty.truncate_to(6)
    assert dirty.compaction.cleaned_to == 6


def test_a_truncation_elsewhere_makes_the_result_worthless_too(dirty):
    """What displaced the old value is gone: the segment that holds it is as it was, but the plan is wrong."""
    dirty.configure(LogConfig(compact=True, segment_bytes=1))  # each segment for itself
    _, cleaned = run(dirty)
    dirty.truncate_to(2)
    assert dirty.compaction.finish(cleaned[0], NOW_MS) is None
    assert offsets(dirty) == [0, 1]


def test_a_decision_that_may_not_be_durable_takes_the_log_offline(disk, dirty):
    """The swap would come back after a crash, whatever the log did in the meantime."""
    _, [cleaned] = run(dirty)
    disk.fail("sync_dir", DIRECTORY)
    with pytest.raises(KafkaError):
        dirty.compaction.finish(cleaned, NOW_MS)
    assert dirty.offline is not None
