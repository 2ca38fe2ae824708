"""Snapshots of a quorum's metadata: when they are taken, what they replace, and the leader's."""

import errno
import os

import pytest

from tests.unit.metadata.metadata_dir import NOW, VOTERS, data, fill, image_of, noop, take_snapshot, write
from tidelog.base.errors import KafkaError, StorageError
from tidelog.metadata.store import store as quorum_store
from tidelog.metadata.store.store import QuorumStore, decode_snapshot, encode_snapshot
from tidelog.raft.ready import HardState, Ready, Snapshot
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk


def test_snapshot_is_taken_only_when_due(metadata_dir, monkeypatch):
    monkeypatch.setattr(quorum_store, "SNAPSHOT_AFTER_ENTRIES", 5)
    store = metadata_dir.open()
    fill(store, 4)
    assert store.begin_snapshot(image_of(4), 3, 1, VOTERS, NOW) is None
    fill(store, 1)
    begun = store.begin_snapshot(image_of(5), 4, 1, VOTERS, NOW)
    assert store.begin_snapshot(image_of(5), 4, 1, VOTERS, NOW) is None  # one is under way
    begun.run()
    assert store.finish_snapshot(begun)
    assert store.begin_snapshot(image_of(5), 4, 1, VOTERS, NOW) is None
    monkeypatch.setattr(quorum_store, "SNAPSHOT_AFTER_BYTES", 300)
    fill(store, 1)
    assert store.begin_snapshot(image_of(6), 5, 1, VOTERS, NOW) is None
    fill(store, 2)
    assert store.begin_snapshot(image_of(8), 7, 1, VOTERS, NOW) is not None


def test_store_starts_from_its_snapshot(metadata_dir, eager_snapshots):
    store = metadata_dir.open()
    fill(store, 10)
    take_snapshot(store, 6)
    again = metadata_dir.open()
    assert (again.snapshot.index, again.snapshot.term) == (6, 1)
    assert again.snapshot.configuration == VOTERS
    assert again.snapshot.image == image_of(7)
    assert list(again.entries) == [data(1, number) for number in (7, 8, 9)]


def test_old_files_go_when_two_snapshots_replace_them(metadata_dir, eager_snapshots):
    store = metadata_dir.open()
    for end in (10, 20, 30, 40):
        fill(store, 10)
        take_snapshot(store, end - 1)
    fill(store, 1)
    assert metadata_dir.names(".checkpoint") == [
        "00000000000000000029-0000000001.checkpoint",
        "00000000000000000039-0000000001.checkpoint",
    ]
    assert metadata_dir.names(".log") == ["00000000000000000030.log", "00000000000000000040.log"]
    again = metadata_dir.open()
    assert again.snapshot.index == 39
    assert list(again.entries) == [data(1, 40)]


def test_damaged_snapshot_is_passed_over(metadata_dir, eager_snapshots):
    store = metadata_dir.open()
    for end in (10, 20):
        fill(store, 10)
        take_snapshot(store, end - 1)
    newest = metadata_dir.files(".checkpoint")[-1]
    newest.write_bytes(newest.read_bytes()[:-1])
    again = metadata_dir.open()
    assert again.snapshot.index == 9
    assert list(again.entries) == [data(1, number) for number in range(10, 20)]
    assert len(metadata_dir.files(".checkpoint.damaged")) == 1
    fill(again, 1)
    take_snapshot(again, 20)
    assert metadata_dir.open().snapshot.index == 20


def test_damaged_snapshot_without_the_log_below_it_refuses_to_start(metadata_dir, eager_snapshots):
    store = metadata_dir.open()
    for end in (10, 20, 30):
        fill(store, 10)
        take_snapshot(store, end - 1)
    fill(store, 1)
    for file in metadata_dir.files(".checkpoint"):
        file.write_bytes(b"junk" * 100)
    with pytest.raises(StorageError, match=r"\.log at 0: the log begins at index 20.*backup"):
        metadata_dir.open()


def test_log_that_ends_before_a_snapshot_refuses_to_start_until_it_is_moved_away(
    metadata_dir, eager_snapshots
):
    store = metadata_dir.open()
    fill(store, 10)
    take_snapshot(store, 9)
    (file,) = metadata_dir.files(".log")
    os.truncate(file, file.stat().st_size // 2)
    with pytest.raises(StorageError, match=r"though a snapshot was taken at 9.*move all \.log files out"):
        metadata_dir.open()
    file.unlink()
    again = metadata_dir.open()
    assert (again.snapshot.index, again.last_index) == (9, 9)
    fill(again, 1)
    assert list(metadata_dir.open().entries) == [data(1, 10)]


def test_failed_snapshot_costs_nothing_but_time(eager_snapshots):
    disk = MemoryDisk()
    store = QuorumStore.open(disk, "/m")
    fill(store, 3)
    disk.fail("write", ".checkpoint", error=errno.ENOSPC)
    begun = store.begin_snapshot(image_of(3), 2, 1, VOTERS, NOW)
    begun.run()
    assert not store.finish_snapshot(begun)
    fill(store, 1)
    assert len(QuorumStore.open(disk, "/m").entries) == 4


def test_snapshot_for_a_follower(metadata_dir, eager_snapshots):
    store = metadata_dir.open()
    assert store.read_snapshot() is None
    fill(store, 3)
    take_snapshot(store, 2)
    sent = store.read_snapshot()
    assert (sent.index, sent.term, sent.configuration) == (2, 1, VOTERS)
    assert decode_snapshot(sent.data).image == image_of(3)


# The leader's snapshot


def leaders(index, term, count=3):
    return Snapshot(index, term, VOTERS, encode_snapshot(image_of(count), index, term, VOTERS, NOW))


def test_leaders_snapshot_replaces_log_and_snapshots(metadata_dir, eager_snapshots):
    store = metadata_dir.open()
    fill(store, 10)
    take_snapshot(store, 4)
    written = write(
        store,
        hard_state=HardState(5, 2),
        install=leaders(7, 4),  # below the end of the log, which is another one from here on
        first_index=8,
        entries=[noop(5)],
    )
    assert written.installed.image == image_of(3)
    assert store.last_index == 8
    again = metadata_dir.open()
    assert (again.snapshot.index, again.snapshot.term, again.snapshot.configuration) == (7, 4, VOTERS)
    assert again.snapshot.image == image_of(3)
    assert list(again.entries) == [noop(5)]
    assert metadata_dir.names(".checkpoint") == ["00000000000000000007-0000000004.checkpoint"]
    assert metadata_dir.names(".log") == ["00000000000000000008.log"]


def test_own_snapshot_that_the_leaders_overtook_is_dropped(metadata_dir, eager_snapshots):
    store = metadata_dir.open()
    fill(store, 5)
    own = store.begin_snapshot(image_of(5), 4, 1, VOTERS, NOW)
    write(store, hard_state=HardState(2), install=leaders(20, 2))
    own.run()
    assert not store.finish_snapshot(own)
    assert metadata_dir.names(".checkpoint") == ["00000000000000000020-0000000002.checkpoint"]
    assert metadata_dir.open().snapshot.index == 20


def test_snapshot_that_cannot_be_read_is_not_installed(metadata_dir):
    store = metadata_dir.open()
    fill(store, 3)
    bad = leaders(7, 1)
    begun = store.begin(Ready(install=Snapshot(7, 1, VOTERS, bad.data[:-1])), NOW)
    begun.run()
    with pytest.raises(KafkaError, match="snapshot at index 7 cannot be read"):
        store.finish(begun)
    assert len(metadata_dir.open().entries) == 3
