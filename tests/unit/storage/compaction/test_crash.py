"""Power is cut at every single disk operation of a compaction: no newest value and no offset may be lost."""

import pytest

from tests.rigs import log as log_rig
from tests.rigs.log import DIRECTORY, NOW_MS, append, compact, open_log
from tidelog.storage.journal.block import JournalEntry
from tidelog.storage.journal.journal import Journal
from tidelog.storage.journal.replay import replay
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk, PowerCut

CONFIG = LogConfig(
    compact=True, delete=False, segment_bytes=900, index_interval_bytes=64, file_delete_delay_ms=0
)


def dirty_log(seed):
    """Segments of all fates: merged, emptied, unchanged, with tombstones whose time has come."""
    disk = MemoryDisk(seed)
    log = open_log(disk, CONFIG)
    for n in range(15):
        key = b"a%d" % (n % 3) if n < 10 else b"b%d" % n
        append(log, [(key, b"v%d" % n), (b"t%d" % (n % 12), None if n % 2 else b"t")], codec=n % 5)
        if n % 4 == 3:
            log.roll(NOW_MS)
    append(log, [(b"a0", b"last"), (b"b12", None)])
    log.roll(NOW_MS)
    append(log, [(b"active", b"1")])
    flush = log.begin_flush()
    flush.run()
    log.finish_flush(flush)
    return disk, log


def twice(log):
    compact(log, now_ms=NOW_MS)
    compact(log, now_ms=NOW_MS + CONFIG.delete_retention_ms)


def compact_until_power_cut(seed, operation):
    disk, log = dirty_log(seed)
    expected = log_rig.values(log)
    originals = {record.offset: record for record in log_rig.records(log)}
    newest = {record.key: record.offset for record in originals.values()}
    point, end = log.recovery_point, log.end
    disk.power_cut_at = disk.operations + operation
    try:
        twice(log)
    except PowerCut:
        is_cut = True
    else:
        is_cut = False
    disk.crash()
    again = open_log(disk, CONFIG, recovery_point=point)
    assert again.end == end
    assert again.recovery.lines() == []
    found = log_rig.records(again)
    offsets = [record.offset for record in found]
    assert offsets == sorted(set(offsets))
    for record in found:
        assert record == originals[record.offset]
    kept = set(offsets)
    assert all(offset in kept for key, offset in newest.items() if originals[offset].value is not None)
    assert log_rig.values(again) == expected
    names = disk.names(DIRECTORY)
    assert not [name for name in names if name.endswith((".cleaned", ".swap", ".deleted"))]
    if operation % 4 == 0:  # what a crash left can be compacted to the same end
        twice(again)
        assert log_rig.values(again) == expected
    assert append(again, [(b"more", b"1")]) == end
    return is_cut


@pytest.mark.parametrize("seed", [0, 1000, 2000, 3000])
def test_crash_at_every_operation(seed):
    operation = 1
    while compact_until_power_cut(seed + operation, operation):  # each time another part of it survives
        operation += 1
    assert operation > 50


def test_a_crash_while_a_start_finishes_the_swap():
    for operation in range(1, 20):
        disk, log = dirty_log(operation)
        expected, end = log_rig.values(log), log.end
        compaction = log.compaction.begin(log.compaction.cleanable(log.end, NOW_MS), NOW_MS, 1 << 20)
        compaction.map_keys(log_rig.no_pace)
        cleaned = [compaction.clean(group, log_rig.no_pace) for group in compaction.groups()]
        decided = next(segment for segment in cleaned if segment is not None and len(segment.sources) > 1)
        path = decided.sources[0].path
        disk.rename(path + ".log.cleaned", path + ".log.swap")
        disk.sync_dir(DIRECTORY)
        disk.crash()
        disk.power_cut_at = disk.operations + operation
        try:
            open_log(disk, CONFIG, recovery_point=log.recovery_point)
        except PowerCut:
            pass
        disk.crash()
        again = open_log(disk, CONFIG, recovery_point=log.recovery_point)
        assert log_rig.values(again) == expected
        assert again.end == end
        assert [
            s.base for s in again.segments if decided.sources[0].base < s.base < decided.sources[-1].end
        ] == []


def test_a_value_is_not_given_up_for_one_that_was_never_synced():
    """The newer one sits in a sealed segment that nobody flushed: it must outlive what removes the older."""
    for seed in range(20):
        disk = MemoryDisk(seed)
        log = open_log(disk, CONFIG)
        append(log, [(b"a", b"old"), (b"b", b"1")])
        log.roll(NOW_MS)
        flush = log.begin_flush()
        flush.run()
        log.finish_flush(flush)
        append(log, [(b"a", b"new")])
        log.roll(NOW_MS)
        log.configure(LogConfig(compact=True, segment_bytes=1))  # each segment for itself
        compact(log)
        disk.crash()
        again = open_log(disk, CONFIG, recovery_point=log.recovery_point)
        assert log_rig.values(again) == {b"a": b"new", b"b": b"1"}


def test_a_replay_of_the_journal_leaves_compacted_segments_alone():
    """The journal has bytes of a segment at positions that mean something else once it is compacted."""
    for seed in range(20):
        disk = MemoryDisk(seed)
        log = open_log(disk, CONFIG)
        log_dir = log.files.parent
        journal = Journal(disk, log_dir, 1 << 16, new_id=lambda: bytes(16), on_begin=lambda _: None)
        journal.created(journal.create()())
        log.journal = journal
        append(log, [(b"a", bytes(100)), (b"b", b"1")])
        flush = log.begin_flush()
        flush.run()
        log.finish_flush(flush)
        append(log, [(b"a", b"new"), (b"c", b"2")])
        journaled = log.begin_journaling(1 << 16)
        write = journal.begin([JournalEntry(log.name, bytes(16), *journaled.start, journaled.data)])
        write.run()
        journal.finish(write)
        log.finish_journaling(journaled)
        log.roll(NOW_MS)
        compact(log)
        assert not journal.mentions(log.name)
        disk.crash()
        replay(disk, log_dir, bytes(16), lambda _: None)
        again = open_log(disk, CONFIG, recovery_point=log.recovery_point)
        assert log_rig.values(again) == {b"a": b"new", b"b": b"1", b"c": b"2"}
        assert again.recovery.is_clean or not again.recovery.damages
