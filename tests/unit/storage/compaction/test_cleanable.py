from dataclasses import replace

import pytest

from tests.rigs.log import NOW_MS, append, open_log
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk

CONFIG = LogConfig(compact=True, delete=False)


@pytest.fixture
def log():
    """Sealed segments of one record each at 0, 1, 2 and 3, an hour apart; an active one at 4."""
    log = open_log(MemoryDisk(), CONFIG)
    for number in range(4):
        append(log, [(b"a", b"v")], timestamp=NOW_MS + number * 3_600_000)
        log.roll(NOW_MS)
    append(log, [(b"a", b"v")])
    return log


def size(log):
    return log.segments[0].size


def test_all_but_the_active_segment_of_a_new_log_is_dirty(log):
    cleanable = log.compaction.cleanable(log.end, NOW_MS)
    assert (cleanable.start, cleanable.end) == (0, 4)
    assert (cleanable.clean_bytes, cleanable.dirty_bytes) == (0, 4 * size(log))
    assert cleanable.ratio == 1.0


def test_what_was_compacted_is_clean(log):
    log.compaction.cleaned_to = 3
    cleanable = log.compaction.cleanable(log.end, NOW_MS)
    assert (cleanable.start, cleanable.end) == (3, 4)
    assert cleanable.ratio == 0.25


def test_a_segment_that_is_clean_in_part_is_dirty(log):
    append(log, [(b"a", b"v")])
    log.roll(NOW_MS)
    log.compaction.cleaned_to = 5
    cleanable = log.compaction.cleanable(log.end, NOW_MS)
    assert (cleanable.start, cleanable.end) == (5, 6)
    assert cleanable.dirty_bytes == log.segments[4].size


def test_a_log_without_sealed_segments_has_nothing_to_clean():
    log = open_log(MemoryDisk(), CONFIG)
    append(log, [(b"a", b"v")])
    cleanable = log.compaction.cleanable(log.end, NOW_MS)
    assert (cleanable.start, cleanable.end, cleanable.ratio) == (0, 0, 0.0)
    assert not cleanable.is_due(replace(CONFIG, min_cleanable_dirty_ratio=0.0))


@pytest.mark.parametrize(("cleaned_to", "start"), [(0, 2), (1, 2), (2, 2), (3, 3), (5, 5), (6, 2), (99, 2)])
def test_a_checkpoint_outside_of_the_log_is_not_believed(log, cleaned_to, start):
    log.delete_before(2)
    log.compaction.cleaned_to = cleaned_to
    assert log.compaction.cleanable(log.end, NOW_MS).start == start


def test_deleted_segments_do_not_count(log):
    log.delete_before(3)
    cleanable = log.compaction.cleanable(log.end, NOW_MS)
    assert cleanable.clean_bytes + cleanable.dirty_bytes == size(log)


@pytest.mark.parametrize(("stable_below", "end"), [(0, 0), (1, 1), (2, 2), (5, 4)])
def test_what_may_be_taken_back_is_left_alone(log, stable_below, end):
    assert log.compaction.cleanable(stable_below, NOW_MS).end == end


def test_an_open_transaction_keeps_its_segment(log):
    append(log, [(b"a", b"v")], producer_id=1, sequence=0, transactional=True)
    log.roll(NOW_MS)
    append(log, [(b"a", b"v")])
    log.roll(NOW_MS)
    assert log.compaction.cleanable(log.end, NOW_MS).end == 4


@pytest.mark.parametrize(("hours", "end"), [(0, 0), (1, 1), (3, 3), (4, 4)])
def test_nothing_younger_than_the_lag_is_touched(log, hours, end):
    log.configure(replace(CONFIG, min_compaction_lag_ms=3_600_000))
    assert log.compaction.cleanable(log.end, NOW_MS + hours * 3_600_000).end == end


def test_due_means_more_dirty_bytes_than_the_ratio_allows(log):
    log.compaction.cleaned_to = 2
    cleanable = log.compaction.cleanable(log.end, NOW_MS)
    assert cleanable.ratio == 0.5
    assert not cleanable.is_due(replace(CONFIG, min_cleanable_dirty_ratio=0.5))
    assert cleanable.is_due(replace(CONFIG, min_cleanable_dirty_ratio=0.49))


@pytest.mark.parametrize(("hours", "is_overdue"), [(3, False), (4, False), (5, True)])
def test_old_dirt_is_due_whatever_the_ratio(log, hours, is_overdue):
    config = replace(CONFIG, max_compaction_lag_ms=3_600_000, min_cleanable_dirty_ratio=1.0)
    log.configure(config)
    log.compaction.cleaned_to = 3
    cleanable = log.compaction.cleanable(log.end, NOW_MS + hours * 3_600_000)
    assert cleanable.is_overdue == cleanable.is_due(config) == is_overdue


def test_an_overdue_log_without_dirty_bytes_is_not_due(log):
    config = replace(CONFIG, max_compaction_lag_ms=1)
    log.configure(config)
    log.compaction.cleaned_to = 4
    assert not log.compaction.cleanable(log.end, NOW_MS * 2).is_due(config)


def test_an_active_segment_does_not_hold_records_back_for_longer_than_the_longest_lag():
    log = open_log(MemoryDisk(), replace(CONFIG, max_compaction_lag_ms=1000))
    for waited_ms in (0, 1000, 1001):
        append(log, [(b"a", b"v")], timestamp=NOW_MS + waited_ms)
    assert [segment.base for segment in log.segments] == [0, 2]
    log.configure(replace(CONFIG, compact=False, max_compaction_lag_ms=1))
    append(log, [(b"a", b"v")], timestamp=NOW_MS + 5000)
    assert [segment.base for segment in log.segments] == [0, 2]
