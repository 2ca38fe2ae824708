"""The store of a metadata quorum's node: what was finished is there again, and errors take it offline."""

import errno

import pytest

from tests.unit.metadata.metadata_dir import (
    NOW,
    VOTERS,
    append,
    data,
    fill,
    image_of,
    noop,
    take_snapshot,
    write,
)
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.invariant import InvariantError
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.store.store import QuorumStore
from tidelog.raft.entries import Entry, EntryKind
from tidelog.raft.ready import HardState, Ready
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk


def test_new_store_is_empty(metadata_dir):
    for _ in range(2):
        store = metadata_dir.open()
        assert store.hard_state == HardState(0, None)
        assert (store.snapshot.index, store.snapshot.term, store.snapshot.configuration) == (-1, 0, None)
        assert store.snapshot.image == ClusterImage()
        assert list(store.entries) == []
        assert store.last_index == -1


def test_nothing_to_keep_is_no_write(metadata_dir):
    assert metadata_dir.open().begin(Ready(), NOW) is None


@pytest.mark.parametrize("close", [True, False])
def test_what_was_written_is_there_again(metadata_dir, close):
    store = metadata_dir.open()
    entries = [noop(3), data(3, 0), Entry(3, EntryKind.CONFIG, VOTERS.encode()), data(4, 1)]
    write(store, hard_state=HardState(3, 1), entries=entries[:2])
    write(store, hard_state=HardState(4, None), first_index=2, entries=entries[2:])
    assert store.last_index == 3
    if close:
        store.close()
    again = metadata_dir.open()
    assert again.hard_state == HardState(4, None)
    assert list(again.entries) == entries
    assert again.last_index == 3


def test_entries_are_forgotten_once_the_core_has_them(metadata_dir):
    store = metadata_dir.open()
    fill(store, 3)
    again = metadata_dir.open()
    assert len(again.entries) == 3
    write(again, hard_state=HardState(2))
    assert len(again.entries) == 0


def test_truncation_replaces_entries(metadata_dir):
    store = metadata_dir.open()
    fill(store, 6)
    write(store, hard_state=HardState(2), truncate_from=3, first_index=3, entries=[data(2, 30), data(2, 40)])
    append(store, data(2, 50))
    write(store, truncate_from=4, first_index=4, entries=[data(2, 41)])
    again = metadata_dir.open()
    assert list(again.entries) == [data(1, 0), data(1, 1), data(1, 2), data(2, 30), data(2, 41)]
    write(again, truncate_from=4, first_index=4, entries=[noop(2)])  # where a file begins
    write(again, truncate_from=2)
    assert again.last_index == 1
    assert list(metadata_dir.open().entries) == [data(1, 0), data(1, 1)]
    append(again, noop(2))
    assert list(metadata_dir.open().entries) == [data(1, 0), data(1, 1), noop(2)]


def test_truncation_past_the_end_is_none(metadata_dir):
    store = metadata_dir.open()
    fill(store, 2)
    write(store, truncate_from=2, first_index=2, entries=[noop(1)])
    assert len(metadata_dir.open().entries) == 3
    assert metadata_dir.names(".log") == ["00000000000000000000.log"]


def test_gap_before_entries_is_a_bug(metadata_dir):
    store = metadata_dir.open()
    fill(store, 2)
    with pytest.raises(InvariantError, match="gap"):
        store.begin(Ready(first_index=3, entries=[noop(1)]), NOW)


def test_one_write_at_a_time(metadata_dir):
    store = metadata_dir.open()
    begun = store.begin(Ready(hard_state=HardState(1)), NOW)
    with pytest.raises(InvariantError):
        store.begin(Ready(hard_state=HardState(2)), NOW)
    with pytest.raises(InvariantError):
        store.finish(begun)  # it has not run


@pytest.mark.parametrize("operation", ["write", "sync", "create", "rename"])
@pytest.mark.parametrize("truncate_from", [None, 1])
def test_a_write_that_found_no_room_is_run_again(operation, truncate_from):
    disk = MemoryDisk(2)
    store = QuorumStore.open(disk, "/m")
    fill(store, 3)
    ready = Ready(hard_state=HardState(2, 1), truncate_from=truncate_from)
    ready.first_index = 3 if truncate_from is None else truncate_from
    ready.entries = [data(2, 7), data(2, 8)]
    disk.fail(operation, error=errno.ENOSPC)
    begun = store.begin(ready, NOW)
    for _ in range(3):
        begun.run()
        assert store.must_wait(begun)
    disk.heal()
    begun.run()
    assert not store.must_wait(begun)
    store.finish(begun)
    append(store, data(2, 9))
    kept = [data(1, index) for index in range(ready.first_index)]
    disk.crash()
    again = QuorumStore.open(disk, "/m")
    assert again.hard_state == HardState(2, 1)
    assert list(again.entries) == [*kept, data(2, 7), data(2, 8), data(2, 9)]


@pytest.mark.parametrize("operation", ["write", "sync"])
@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_disk_error_takes_the_store_offline_until_a_restart(operation, error):
    disk = MemoryDisk(2)
    store = QuorumStore.open(disk, "/m")
    fill(store, 2)
    disk.fail(operation, ".log", error=error)
    with pytest.raises(KafkaError) as caught:
        append(store, data(1, 2))
    assert caught.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert store.offline is not None
    with pytest.raises(KafkaError):
        store.begin(Ready(hard_state=HardState(9)), NOW)
    assert store.begin_snapshot(image_of(2), 1, 1, VOTERS, NOW) is None
    store.close()
    disk.heal()
    again = QuorumStore.open(disk, "/m")
    assert list(again.entries)[:2] == [data(1, 0), data(1, 1)]
    append(again, data(1, again.last_index + 1))


def test_old_files_that_cannot_be_removed_do_no_harm(eager_snapshots):
    disk = MemoryDisk(4)
    store = QuorumStore.open(disk, "/m")
    disk.fail("remove", "/m")
    for end in (5, 10, 15):
        fill(store, 5)
        take_snapshot(store, end - 1)
    disk.heal()
    assert QuorumStore.open(disk, "/m").snapshot.index == 14


def test_read_error_at_start_is_passed_on():
    disk = MemoryDisk(5)
    fill(QuorumStore.open(disk, "/m"), 2)
    disk.fail("read", ".log")
    with pytest.raises(OSError, match="Input/output"):
        QuorumStore.open(disk, "/m")


def test_process_dies_without_the_machine():
    """What was written but not synced is read from the page cache, and then must stay."""
    disk = MemoryDisk(1)
    store = QuorumStore.open(disk, "/m")
    disk.fail("sync", ".log")
    with pytest.raises(KafkaError):
        append(store, noop(0))
    disk.heal()
    assert list(QuorumStore.open(disk, "/m").entries) == [noop(0)]
    disk.crash()
    assert list(QuorumStore.open(disk, "/m").entries) == [noop(0)]
