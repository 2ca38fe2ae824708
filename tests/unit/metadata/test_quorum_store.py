"""The store of a metadata quorum's node: what was finished is there again, and nothing doubtful is taken."""

import errno
import os
from pathlib import Path

import pytest

from tidelog.base.disk import PosixDisk
from tidelog.base.errors import ErrorCode, KafkaError, StorageError
from tidelog.base.ids import uuid_text
from tidelog.base.invariant import InvariantError
from tidelog.metadata import quorum_store
from tidelog.metadata.entry_data import encode_decision
from tidelog.metadata.image import ClusterImage, advance
from tidelog.metadata.quorum_store import QuorumStore, decode_snapshot, encode_snapshot
from tidelog.metadata.records import ClusterCreated, NewerFormatError, TopicCreated
from tidelog.raft.entries import Configuration, Entry, EntryKind, Voter
from tidelog.raft.ready import HardState, Ready, Snapshot
from tidelog.testing.disk import MemoryDisk

NOW = 1_700_000_000_000
VOTERS = Configuration((Voter(1, "a:9092", b"s" * 16), Voter(2, "b:9092")))


def topic(number):
    return TopicCreated(f"topic-{number}", uuid_text((number + 1).to_bytes(16, "big")))


def data(term, number):
    return Entry(term, EntryKind.DATA, encode_decision([topic(number)]))


def noop(term):
    return Entry(term, EntryKind.NOOP)


class Folder:
    """A store on a real disk that can be opened again and again."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self) -> QuorumStore:
        return QuorumStore.open(PosixDisk(), str(self.path), NOW)

    def names(self, suffix):
        return [path.name for path in self.files(suffix)]

    def files(self, suffix):
        return sorted(self.path.glob(f"*{suffix}"))


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path / "data" / "__cluster_metadata-0")


def write(store, **wanted):
    ready = Ready(**wanted)
    begun = store.begin(ready, NOW)
    begun.run()
    store.finish(begun)
    return begun


def append(store, *entries):
    write(store, first_index=store.last_index + 1, entries=list(entries))


def fill(store, count, term=1):
    first = store.last_index + 1
    if store.hard_state.term < term:
        write(store, hard_state=HardState(term))
    for number in range(first, first + count):
        append(store, data(term, number))


def image_of(count):
    return advance(ClusterImage(), [topic(number) for number in range(count)]).after


def take_snapshot(store, index, term=1, image=None):
    begun = store.begin_snapshot(image_of(index + 1) if image is None else image, index, term, VOTERS, NOW)
    begun.run()
    assert store.finish_snapshot(begun)


@pytest.fixture
def eager_snapshots(monkeypatch):
    monkeypatch.setattr(quorum_store, "SNAPSHOT_AFTER_ENTRIES", 1)


def test_new_store_is_empty(folder):
    for _ in range(2):
        store = folder.open()
        assert store.hard_state == HardState(0, None)
        assert (store.snapshot.index, store.snapshot.term, store.snapshot.configuration) == (-1, 0, None)
        assert store.snapshot.image == ClusterImage()
        assert list(store.entries) == []
        assert store.last_index == -1


def test_nothing_to_keep_is_no_write(folder):
    assert folder.open().begin(Ready(), NOW) is None


@pytest.mark.parametrize("close", [True, False])
def test_what_was_written_is_there_again(folder, close):
    store = folder.open()
    entries = [noop(3), data(3, 0), Entry(3, EntryKind.CONFIG, VOTERS.encode()), data(4, 1)]
    write(store, hard_state=HardState(3, 1), entries=entries[:2])
    write(store, hard_state=HardState(4, None), first_index=2, entries=entries[2:])
    assert store.last_index == 3
    if close:
        store.close()
    again = folder.open()
    assert again.hard_state == HardState(4, None)
    assert list(again.entries) == entries
    assert again.last_index == 3


def test_entries_are_forgotten_once_the_core_has_them(folder):
    store = folder.open()
    fill(store, 3)
    again = folder.open()
    assert len(again.entries) == 3
    write(again, hard_state=HardState(2))
    assert len(again.entries) == 0


def test_truncation_replaces_entries(folder):
    store = folder.open()
    fill(store, 6)
    write(store, hard_state=HardState(2), truncate_from=3, first_index=3, entries=[data(2, 30), data(2, 40)])
    append(store, data(2, 50))
    write(store, truncate_from=4, first_index=4, entries=[data(2, 41)])
    again = folder.open()
    assert list(again.entries) == [data(1, 0), data(1, 1), data(1, 2), data(2, 30), data(2, 41)]
    write(again, truncate_from=4, first_index=4, entries=[noop(2)])  # where a file begins
    write(again, truncate_from=2)
    assert again.last_index == 1
    assert list(folder.open().entries) == [data(1, 0), data(1, 1)]
    append(again, noop(2))
    assert list(folder.open().entries) == [data(1, 0), data(1, 1), noop(2)]


def test_truncation_past_the_end_is_none(folder):
    store = folder.open()
    fill(store, 2)
    write(store, truncate_from=2, first_index=2, entries=[noop(1)])
    assert len(folder.open().entries) == 3
    assert folder.names(".log") == ["00000000000000000000.log"]


def test_gap_before_entries_is_a_bug(folder):
    store = folder.open()
    fill(store, 2)
    with pytest.raises(InvariantError, match="gap"):
        store.begin(Ready(first_index=3, entries=[noop(1)]), NOW)


def test_one_write_at_a_time(folder):
    store = folder.open()
    begun = store.begin(Ready(hard_state=HardState(1)), NOW)
    with pytest.raises(InvariantError):
        store.begin(Ready(hard_state=HardState(2)), NOW)
    with pytest.raises(InvariantError):
        store.finish(begun)  # it has not run


# Snapshots


def test_snapshot_is_taken_only_when_due(folder, monkeypatch):
    monkeypatch.setattr(quorum_store, "SNAPSHOT_AFTER_ENTRIES", 5)
    store = folder.open()
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


def test_store_starts_from_its_snapshot(folder, eager_snapshots):
    store = folder.open()
    fill(store, 10)
    take_snapshot(store, 6)
    again = folder.open()
    assert (again.snapshot.index, again.snapshot.term) == (6, 1)
    assert again.snapshot.configuration == VOTERS
    assert again.snapshot.image == image_of(7)
    assert list(again.entries) == [data(1, number) for number in (7, 8, 9)]


def test_old_files_go_when_two_snapshots_replace_them(folder, eager_snapshots):
    store = folder.open()
    for end in (10, 20, 30, 40):
        fill(store, 10)
        take_snapshot(store, end - 1)
    fill(store, 1)
    assert folder.names(".checkpoint") == [
        "00000000000000000029-0000000001.checkpoint",
        "00000000000000000039-0000000001.checkpoint",
    ]
    assert folder.names(".log") == ["00000000000000000030.log", "00000000000000000040.log"]
    again = folder.open()
    assert again.snapshot.index == 39
    assert list(again.entries) == [data(1, 40)]


def test_damaged_snapshot_is_passed_over(folder, eager_snapshots):
    store = folder.open()
    for end in (10, 20):
        fill(store, 10)
        take_snapshot(store, end - 1)
    newest = folder.files(".checkpoint")[-1]
    newest.write_bytes(newest.read_bytes()[:-1])
    again = folder.open()
    assert again.snapshot.index == 9
    assert list(again.entries) == [data(1, number) for number in range(10, 20)]
    assert len(folder.files(".checkpoint.damaged")) == 1
    fill(again, 1)
    take_snapshot(again, 20)
    assert folder.open().snapshot.index == 20


def test_damaged_snapshot_without_the_log_below_it_refuses_to_start(folder, eager_snapshots):
    store = folder.open()
    for end in (10, 20, 30):
        fill(store, 10)
        take_snapshot(store, end - 1)
    fill(store, 1)
    for file in folder.files(".checkpoint"):
        file.write_bytes(b"junk" * 100)
    with pytest.raises(StorageError, match=r"\.log at 0: the log begins at index 20.*backup"):
        folder.open()


def test_log_that_ends_before_a_snapshot_refuses_to_start_until_it_is_moved_away(folder, eager_snapshots):
    store = folder.open()
    fill(store, 10)
    take_snapshot(store, 9)
    (file,) = folder.files(".log")
    os.truncate(file, file.stat().st_size // 2)
    with pytest.raises(StorageError, match=r"though a snapshot was taken at 9.*move all \.log files out"):
        folder.open()
    file.unlink()
    again = folder.open()
    assert (again.snapshot.index, again.last_index) == (9, 9)
    fill(again, 1)
    assert list(folder.open().entries) == [data(1, 10)]


def test_failed_snapshot_costs_nothing_but_time(eager_snapshots):
    disk = MemoryDisk()
    store = QuorumStore.open(disk, "/m", NOW)
    fill(store, 3)
    disk.fail("write", ".checkpoint", error=errno.ENOSPC)
    begun = store.begin_snapshot(image_of(3), 2, 1, VOTERS, NOW)
    begun.run()
    assert not store.finish_snapshot(begun)
    fill(store, 1)
    assert len(QuorumStore.open(disk, "/m", NOW).entries) == 4


def test_snapshot_for_a_follower(folder, eager_snapshots):
    store = folder.open()
    assert store.read_snapshot() is None
    fill(store, 3)
    take_snapshot(store, 2)
    sent = store.read_snapshot()
    assert (sent.index, sent.term, sent.configuration) == (2, 1, VOTERS)
    assert decode_snapshot(sent.data).image == image_of(3)


# The leader's snapshot


def leaders(index, term, count=3):
    return Snapshot(index, term, VOTERS, encode_snapshot(image_of(count), index, term, VOTERS, NOW))


def test_leaders_snapshot_replaces_log_and_snapshots(folder, eager_snapshots):
    store = folder.open()
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
    again = folder.open()
    assert (again.snapshot.index, again.snapshot.term, again.snapshot.configuration) == (7, 4, VOTERS)
    assert again.snapshot.image == image_of(3)
    assert list(again.entries) == [noop(5)]
    assert folder.names(".checkpoint") == ["00000000000000000007-0000000004.checkpoint"]
    assert folder.names(".log") == ["00000000000000000008.log"]


def test_own_snapshot_that_the_leaders_overtook_is_dropped(folder, eager_snapshots):
    store = folder.open()
    fill(store, 5)
    own = store.begin_snapshot(image_of(5), 4, 1, VOTERS, NOW)
    write(store, hard_state=HardState(2), install=leaders(20, 2))
    own.run()
    assert not store.finish_snapshot(own)
    assert folder.names(".checkpoint") == ["00000000000000000020-0000000002.checkpoint"]
    assert folder.open().snapshot.index == 20


def test_snapshot_that_cannot_be_read_is_not_installed(folder):
    store = folder.open()
    fill(store, 3)
    bad = leaders(7, 1)
    begun = store.begin(Ready(install=Snapshot(7, 1, VOTERS, bad.data[:-1])), NOW)
    begun.run()
    with pytest.raises(KafkaError, match="snapshot at index 7 cannot be read"):
        store.finish(begun)
    assert len(folder.open().entries) == 3


# Disk errors


@pytest.mark.parametrize("operation", ["write", "sync"])
@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_disk_error_takes_the_store_offline_until_a_restart(operation, error):
    disk = MemoryDisk(2)
    store = QuorumStore.open(disk, "/m", NOW)
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
    again = QuorumStore.open(disk, "/m", NOW)
    assert list(again.entries)[:2] == [data(1, 0), data(1, 1)]
    append(again, data(1, again.last_index + 1))


def test_old_files_that_cannot_be_removed_do_no_harm(eager_snapshots):
    disk = MemoryDisk(4)
    store = QuorumStore.open(disk, "/m", NOW)
    disk.fail("remove", "/m")
    for end in (5, 10, 15):
        fill(store, 5)
        take_snapshot(store, end - 1)
    disk.heal()
    assert QuorumStore.open(disk, "/m", NOW).snapshot.index == 14


def test_read_error_at_start_is_passed_on():
    disk = MemoryDisk(5)
    fill(QuorumStore.open(disk, "/m", NOW), 2)
    disk.fail("read", ".log")
    with pytest.raises(OSError, match="Input/output"):
        QuorumStore.open(disk, "/m", NOW)


def test_process_dies_without_the_machine():
    """What was written but not synced is read from the page cache, and then must stay."""
    disk = MemoryDisk(1)
    store = QuorumStore.open(disk, "/m", NOW)
    disk.fail("sync", ".log")
    with pytest.raises(KafkaError):
        append(store, noop(0))
    disk.heal()
    assert list(QuorumStore.open(disk, "/m", NOW).entries) == [noop(0)]
    disk.crash()
    assert list(QuorumStore.open(disk, "/m", NOW).entries) == [noop(0)]


# What must not be trusted


def flip(file, position):
    raw = bytearray(file.read_bytes())
    raw[position] ^= 0x10
    file.write_bytes(raw)


@pytest.mark.parametrize("cut", [1, 40, 60, 61, 62, 100])
def test_torn_tail_is_cut(folder, cut):
    store = folder.open()
    fill(store, 3)
    (file,) = folder.files(".log")
    before = file.stat().st_size
    append(store, data(1, 3))
    os.truncate(file, before + cut)
    again = folder.open()
    assert list(again.entries) == [data(1, number) for number in range(3)]
    append(again, data(1, 33))
    assert list(folder.open().entries) == [*(data(1, number) for number in range(3)), data(1, 33)]


def test_unfinished_write_is_cut_where_it_has_its_first_hole(folder):
    """Pages of one write arrive in any order: its second entry may be there without the first."""
    store = folder.open()
    fill(store, 3)
    (file,) = folder.files(".log")
    before = file.stat().st_size
    big = Entry(1, EntryKind.DATA, encode_decision([ClusterCreated("x" * 3000)]))
    append(store, big, data(1, 4))
    raw = bytearray(file.read_bytes())
    raw[1024:2048] = bytes(1024)
    file.write_bytes(raw)
    again = folder.open()
    assert list(again.entries) == [data(1, number) for number in range(3)]
    assert file.stat().st_size == before


@pytest.mark.parametrize("inside", [7, 9, 14, 16, 17, 40, 61, 80])
@pytest.mark.parametrize("victim", [1, 3])
def test_damaged_entry_refuses_to_start(folder, inside, victim):
    """Offset, length, epoch, magic, CRC, header, body; of an entry in the middle and of the last one."""
    store = folder.open()
    ends = [0]
    for number in range(4):
        fill(store, 1)
        ends.append(folder.files(".log")[0].stat().st_size)
        assert store.last_index == number
    (file,) = folder.files(".log")
    flip(file, ends[victim] + inside)
    with pytest.raises(StorageError, match=r"0\.log at (\d+): the metadata log is damaged") as caught:
        folder.open()
    message = str(caught.value)
    assert f"0.log at {ends[victim]}" in message
    assert f"truncate -s {ends[victim]} {file}" in message
    assert "backup" in message


def test_every_flipped_bit_refuses_to_start_and_the_remedy_works(folder):
    store = folder.open()
    ends = [0]
    for _ in range(12):
        fill(store, 1)
        ends.append(folder.files(".log")[0].stat().st_size)
    (file,) = folder.files(".log")
    whole = file.read_bytes()
    for step, position in enumerate(range(0, len(whole), 5)):
        raw = bytearray(whole)
        raw[position] ^= 1 << step % 8
        file.write_bytes(raw)
        with pytest.raises(StorageError, match=r"0\.log at \d+: ") as caught:
            folder.open()
        cut_at = int(str(caught.value).partition("truncate -s ")[2].partition(" ")[0])
        os.truncate(file, cut_at)
        assert list(folder.open().entries) == [data(1, n) for n in range(ends.index(cut_at))]
    file.write_bytes(whole)
    assert len(folder.open().entries) == 12


def test_damage_below_the_snapshot_does_not_matter(folder, eager_snapshots):
    store = folder.open()
    for end in (10, 20):
        fill(store, 10)
        take_snapshot(store, end - 1)
    fill(store, 1)
    flip(folder.files(".log")[0], 70)
    assert list(folder.open().entries) == [data(1, 20)]


def test_missing_file_refuses_to_start(folder):
    store = folder.open()
    fill(store, 6)
    write(store, truncate_from=4, first_index=4, entries=[noop(1)])
    folder.files(".log")[0].unlink()
    with pytest.raises(StorageError, match="begins at index 4, and no readable snapshot"):
        folder.open()


@pytest.mark.parametrize("position", range(0, 56, 3))
def test_flipped_bit_in_term_or_vote_refuses_to_start(folder, position):
    store = folder.open()
    write(store, hard_state=HardState(7, 2))
    flip(folder.path / "quorum-state", position)
    with pytest.raises(StorageError, match=r"quorum-state at 0: .*backup"):
        folder.open()


def test_missing_quorum_state_refuses_to_start_and_can_be_written_anew(folder, eager_snapshots):
    store = folder.open()
    fill(store, 3, term=4)
    (folder.path / "quorum-state").unlink()
    with pytest.raises(StorageError, match=r"quorum-state is missing.*\"term\":TERM"):
        folder.open()
    (folder.path / "quorum-state").write_text('{"version":1,"term":3,"voted_for":null}')
    with pytest.raises(StorageError, match=r"quorum-state at 0: it holds term 3.*entries of term 4"):
        folder.open()
    (folder.path / "quorum-state").write_text('{"version":1,"term":4,"voted_for":null}')
    assert len(folder.open().entries) == 3
    take_snapshot(store, 2, term=4)
    (folder.path / "quorum-state").unlink()
    folder.files(".log")[0].unlink()
    with pytest.raises(StorageError, match="quorum-state is missing"):
        folder.open()


def test_entry_of_a_newer_version_refuses_to_start(folder):
    store = folder.open()
    append(store, Entry(0, EntryKind.DATA, b'[{"type":"quota-set","name":"x"}]'))
    with pytest.raises(NewerFormatError, match=r"\.log at \d+: .*unknown type 'quota-set': a newer version"):
        folder.open()


@pytest.mark.parametrize("kind", [EntryKind.DATA, EntryKind.CONFIG])
def test_entry_without_sense_refuses_to_start(folder, kind):
    store = folder.open()
    append(store, Entry(0, kind, b"junk"))
    with pytest.raises(StorageError, match=r"0\.log at 0: the metadata log is damaged"):
        folder.open()


def test_term_that_goes_back_refuses_to_start(folder):
    store = folder.open()
    write(store, hard_state=HardState(5), entries=[noop(5), noop(4)])
    with pytest.raises(StorageError, match="term 4 after term 5"):
        folder.open()
