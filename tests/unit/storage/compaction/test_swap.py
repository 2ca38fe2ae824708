"""What a start finds in a folder where a compaction was interrupted, and what it makes of it."""

import pytest

from tests.rigs import log as log_rig
from tests.rigs.log import DIRECTORY, NOW_MS, append, open_log
from tidelog.base.errors import StorageError
from tidelog.storage.compaction import swap as compaction_swap
from tidelog.storage.log_config import LogConfig
from tidelog.storage.segment.batch_walk import walk
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk

CONFIG = LogConfig(compact=True, index_interval_bytes=64)


@pytest.fixture
def disk():
    return MemoryDisk()


@pytest.fixture
def path(disk):
    """Three sealed segments, of which a complete compacted one lies beside them."""
    log = open_log(disk, CONFIG)
    for n in range(3):
        append(log, [(b"a", b"%d" % n), (b"k%d" % n, b"v" * 80)])
        log.roll(NOW_MS)
    append(log, [(b"active", b"1")])
    compaction = log.compaction.begin(log.compaction.cleanable(log.end, NOW_MS), NOW_MS, 1 << 20)
    compaction.map_keys(log_rig.no_pace)
    compaction.clean(compaction.groups()[0], log_rig.no_pace)
    return log.segments[0].path


def bases(disk):
    return [segment.base for segment in open_log(disk, CONFIG).segments]


def suffixes(disk):
    return {name[20:] for name in disk.names(DIRECTORY)}


def test_what_was_not_decided_is_removed(disk, path):
    assert {".log.cleaned", ".index.swap", ".timeindex.swap"} <= suffixes(disk)
    removed = compaction_swap.recover(disk, DIRECTORY)
    assert [name[20:] for name in removed] == [".index.swap", ".log.cleaned", ".timeindex.swap"]
    assert bases(disk) == [0, 2, 4, 6]


def test_what_was_decided_is_carried_through(disk, path):
    compaction_swap.decide(disk, path)
    compaction_swap.recover(disk, DIRECTORY)
    assert not [suffix for suffix in suffixes(disk) if suffix.endswith((".swap", ".cleaned"))]
    assert bases(disk) == [0, 6]
    assert [record.offset for record in log_rig.records(open_log(disk, CONFIG))] == [1, 3, 4, 5, 6]


def test_a_second_start_finds_nothing_to_do(disk, path):
    compaction_swap.decide(disk, path)
    compaction_swap.recover(disk, DIRECTORY)
    operations = disk.operations
    assert compaction_swap.recover(disk, DIRECTORY) == []
    assert disk.operations == operations


@pytest.mark.parametrize("done", [(".index",), (".index", ".timeindex")])
def test_indexes_that_have_their_names_already_stay(disk, path, done):
    compaction_swap.decide(disk, path)
    for suffix in done:
        disk.rename(path + suffix + ".swap", path + suffix)
    new = [disk.open(path + suffix).read_at(0, 999) for suffix in done]
    compaction_swap.recover(disk, DIRECTORY)
    assert [disk.open(path + suffix).read_at(0, 999) for suffix in done] == new
    assert bases(disk) == [0, 6]


def test_other_files_are_not_touched(disk, path):
    for name in ("notes.swap.txt", "leader-epoch-checkpoint.bak", "00000000000000000002.log.damaged-10"):
        disk.open(f"{DIRECTORY}/{name}", create=True)
    compaction_swap.decide(disk, path)
    compaction_swap.recover(disk, DIRECTORY)
    assert {"notes.swap.txt", "leader-epoch-checkpoint.bak", "00000000000000000002.log.damaged-10"} <= set(
        disk.names(DIRECTORY)
    )


@pytest.mark.parametrize("reach", [6, 7, 1000])
def test_a_damaged_offset_does_not_cost_other_segments(disk, path, reach):
    compaction_swap.decide(disk, path)
    file = disk.open(path + ".log.swap")
    *_, (position, _) = walk(file, 0, file.size())
    file.write_at(position, [reach.to_bytes(8, "big")])
    names = disk.names(DIRECTORY)
    with pytest.raises(StorageError, match=r"\.log\.swap is damaged"):
        open_log(disk, CONFIG)
    assert disk.names(DIRECTORY) == names


def test_discard_leaves_a_decided_segment(disk, path):
    compaction_swap.decide(disk, path)
    compaction_swap.discard(disk, path)
    assert disk.exists(path + ".log.swap")
