"""A store that was damaged takes nothing doubtful: it cuts what was never finished, and refuses the rest."""

import os

import pytest

from tests.unit.metadata.metadata_dir import append, data, fill, noop, take_snapshot, write
from tidelog.base.errors import StorageError
from tidelog.metadata.image.records import ClusterCreated, NewerFormatError
from tidelog.metadata.store.entries.data import encode_decision
from tidelog.raft.entries import Entry, EntryKind
from tidelog.raft.ready import HardState


def flip(file, position):
    raw = bytearray(file.read_bytes())
    raw[position] ^= 0x10
    file.write_bytes(raw)


@pytest.mark.parametrize("extra", [1, 40, 60, 61, 62, 100])
def test_torn_tail_is_truncated(metadata_dir, extra):
    store = metadata_dir.open()
    fill(store, 3)
    (file,) = metadata_dir.files(".log")
    before = file.stat().st_size
    append(store, data(1, 3))
    os.truncate(file, before + extra)
    again = metadata_dir.open()
    assert list(again.entries) == [data(1, number) for number in range(3)]
    append(again, data(1, 33))
    assert list(metadata_dir.open().entries) == [*(data(1, number) for number in range(3)), data(1, 33)]


def test_unfinished_write_is_truncated_at_its_first_hole(metadata_dir):
    """Pages of one write arrive in any order: its second entry may be there without the first."""
    store = metadata_dir.open()
    fill(store, 3)
    (file,) = metadata_dir.files(".log")
    before = file.stat().st_size
    big = Entry(1, EntryKind.DATA, encode_decision([ClusterCreated("x" * 3000)]))
    append(store, big, data(1, 4))
    raw = bytearray(file.read_bytes())
    raw[1024:2048] = bytes(1024)
    file.write_bytes(raw)
    again = metadata_dir.open()
    assert list(again.entries) == [data(1, number) for number in range(3)]
    assert file.stat().st_size == before


@pytest.mark.parametrize("inside", [7, 9, 14, 16, 17, 40, 61, 80])
@pytest.mark.parametrize("victim", [1, 3])
def test_damaged_entry_refuses_to_start(metadata_dir, inside, victim):
    """Offset, length, epoch, magic, CRC, header, body; of an entry in the middle and of the last one."""
    store = metadata_dir.open()
    ends = [0]
    for number in range(4):
        fill(store, 1)
        ends.append(metadata_dir.files(".log")[0].stat().st_size)
        assert store.last_index == number
    (file,) = metadata_dir.files(".log")
    flip(file, ends[victim] + inside)
    with pytest.raises(StorageError, match=r"0\.log at (\d+): the metadata log is damaged") as caught:
        metadata_dir.open()
    message = str(caught.value)
    assert f"0.log at {ends[victim]}" in message
    assert f"truncate -s {ends[victim]} {file}" in message
    assert "backup" in message


def test_every_flipped_bit_refuses_to_start_and_the_remedy_works(metadata_dir):
    store = metadata_dir.open()
    ends = [0]
    for _ in range(12):
        fill(store, 1)
        ends.append(metadata_dir.files(".log")[0].stat().st_size)
    (file,) = metadata_dir.files(".log")
    whole = file.read_bytes()
    for step, position in enumerate(range(0, len(whole), 5)):
        raw = bytearray(whole)
        raw[position] ^= 1 << step % 8
        file.write_bytes(raw)
        with pytest.raises(StorageError, match=r"0\.log at \d+: ") as caught:
            metadata_dir.open()
        truncated_at = int(str(caught.value).partition("truncate -s ")[2].partition(" ")[0])
        os.truncate(file, truncated_at)
        assert list(metadata_dir.open().entries) == [data(1, n) for n in range(ends.index(truncated_at))]
    file.write_bytes(whole)
    assert len(metadata_dir.open().entries) == 12


def test_damage_below_the_snapshot_does_not_matter(metadata_dir, eager_snapshots):
    store = metadata_dir.open()
    for end in (10, 20):
        fill(store, 10)
        take_snapshot(store, end - 1)
    fill(store, 1)
    flip(metadata_dir.files(".log")[0], 70)
    assert list(metadata_dir.open().entries) == [data(1, 20)]


def test_missing_file_refuses_to_start(metadata_dir):
    store = metadata_dir.open()
    fill(store, 6)
    write(store, truncate_from=4, first_index=4, entries=[noop(1)])
    metadata_dir.files(".log")[0].unlink()
    with pytest.raises(StorageError, match="begins at index 4, and no readable snapshot"):
        metadata_dir.open()


@pytest.mark.parametrize("position", range(0, 56, 3))
def test_flipped_bit_in_term_or_vote_refuses_to_start(metadata_dir, position):
    store = metadata_dir.open()
    write(store, hard_state=HardState(7, 2))
    flip(metadata_dir.path / "quorum-state", position)
    with pytest.raises(StorageError, match=r"quorum-state at 0: .*backup"):
        metadata_dir.open()


def test_missing_quorum_state_refuses_to_start_and_can_be_written_anew(metadata_dir, eager_snapshots):
    store = metadata_dir.open()
    fill(store, 3, term=4)
    (metadata_dir.path / "quorum-state").unlink()
    with pytest.raises(StorageError, match=r"quorum-state is missing.*\"term\":TERM"):
        metadata_dir.open()
    (metadata_dir.path / "quorum-state").write_text('{"version":1,"term":3,"voted_for":null}')
    with pytest.raises(StorageError, match=r"quorum-state at 0: it holds term 3.*entries of term 4"):
        metadata_dir.open()
    (metadata_dir.path / "quorum-state").write_text('{"version":1,"term":4,"voted_for":null}')
    assert len(metadata_dir.open().entries) == 3
    take_snapshot(store, 2, term=4)
    (metadata_dir.path / "quorum-state").unlink()
    metadata_dir.files(".log")[0].unlink()
    with pytest.raises(StorageError, match="quorum-state is missing"):
        metadata_dir.open()


def test_entry_of_a_newer_version_refuses_to_start(metadata_dir):
    store = metadata_dir.open()
    append(store, Entry(0, EntryKind.DATA, b'[{"type":"quota-set","name":"x"}]'))
    with pytest.raises(NewerFormatError, match=r"\.log at \d+: .*unknown type 'quota-set': a newer version"):
        metadata_dir.open()


@pytest.mark.parametrize("kind", [EntryKind.DATA, EntryKind.CONFIG])
def test_entry_without_sense_refuses_to_start(metadata_dir, kind):
    store = metadata_dir.open()
    append(store, Entry(0, kind, b"junk"))
    with pytest.raises(StorageError, match=r"0\.log at 0: the metadata log is damaged"):
        metadata_dir.open()


def test_term_that_goes_back_refuses_to_start(metadata_dir):
    store = metadata_dir.open()
    write(store, hard_state=HardState(5), entries=[noop(5), noop(4)])
    with pytest.raises(StorageError, match="term 4 after term 5"):
        metadata_dir.open()
