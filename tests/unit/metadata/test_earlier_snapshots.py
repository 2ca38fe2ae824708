"""Snapshots of the version before the quorum: read as they were written, or not at all."""

import pytest

from tidelog.base.disk import PosixDisk
from tidelog.base.errors import StorageError
from tidelog.base.ids import uuid_text
from tidelog.metadata.earlier_snapshots import load_newest, read_snapshot
from tidelog.metadata.image.as_records import image_records
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.image.records import (
    ClusterCreated,
    NewerFormatError,
    PartitionCreated,
    SnapshotBegan,
    SnapshotEnded,
    TopicCreated,
)
from tidelog.metadata.store.record_batches import encode_batch

ID = uuid_text(bytes(15) + b"\x01")
FULL = advance(
    ClusterImage(), [ClusterCreated("c"), TopicCreated("a", ID), PartitionCreated(ID, 0, (1, 2), (1,), 1)]
).after


def encode(image, offset=77):
    """In two batches, as a large one had many."""
    body = list(image_records(image))
    first = encode_batch([SnapshotBegan(offset, 5)], base_offset=0, now_ms=5)
    return bytes(first + encode_batch([*body, SnapshotEnded(len(body))], base_offset=1, now_ms=5))


@pytest.fixture
def stored(tmp_path):
    """Writes bytes to a file and opens it."""

    def store(data):
        path = tmp_path / "x.checkpoint"
        path.write_bytes(data)
        return PosixDisk().open(str(path))

    return store


@pytest.mark.parametrize("image", [ClusterImage(), FULL])
def test_snapshot_survives_the_disk(stored, image):
    assert read_snapshot(stored(encode(image)), 77) == image


def test_every_cut_is_noticed(stored):
    whole = encode(FULL)
    for length in range(0, len(whole), 7):
        with pytest.raises(StorageError, match=r"x\.checkpoint at \d+"):
            read_snapshot(stored(whole[:length]), 77)


def test_every_flipped_bit_that_matters_is_noticed(stored):
    whole = encode(FULL)
    for position in range(0, len(whole), 13):
        flipped = bytearray(whole)
        flipped[position] ^= 0x10
        try:
            assert read_snapshot(stored(bytes(flipped)), 77) == FULL  # the epoch field means nothing here
        except StorageError:
            pass


@pytest.mark.parametrize(
    "records",
    [
        [SnapshotBegan(76), SnapshotEnded(0)],
        [SnapshotBegan(77), SnapshotEnded(1)],
        [SnapshotBegan(77), TopicCreated("a", ID), TopicCreated("a", ID), SnapshotEnded(2)],
        [SnapshotBegan(77), TopicCreated("a", "no id"), SnapshotEnded(1)],
        [SnapshotBegan(77), SnapshotBegan(77), SnapshotEnded(1)],
        [TopicCreated("a", ID), SnapshotEnded(0)],
        [SnapshotEnded(-1)],
    ],
)
def test_records_that_are_no_snapshot_of_this_offset(stored, records):
    with pytest.raises(StorageError, match=r"x\.checkpoint"):
        read_snapshot(stored(bytes(encode_batch(records, base_offset=0, now_ms=1))), 77)


def test_snapshot_of_a_newer_version_is_told_apart_from_damage(stored, monkeypatch):
    monkeypatch.setattr(
        "tidelog.metadata.store.record_batches.encode_record", lambda _: b'{"type":"acl-created"}'
    )
    data = bytes(encode_batch([SnapshotBegan(77)], base_offset=0, now_ms=1))
    with pytest.raises(NewerFormatError, match=r"x\.checkpoint at 0: .*newer version"):
        read_snapshot(stored(data), 77)


def test_newest_readable_one_counts(tmp_path):
    disk = PosixDisk()
    assert load_newest(disk, str(tmp_path)) == (0, ClusterImage())
    (tmp_path / "00000000000000000005.checkpoint").write_bytes(encode(ClusterImage(), 5))
    (tmp_path / "00000000000000000007.checkpoint").write_bytes(encode(FULL, 7))
    assert load_newest(disk, str(tmp_path)) == (7, FULL)
    (tmp_path / "00000000000000000009.checkpoint").write_bytes(encode(FULL, 9)[:-1])
    assert load_newest(disk, str(tmp_path)) == (7, FULL)
