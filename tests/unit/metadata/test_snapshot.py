import pytest

from tidelog.base.disk import PosixDisk
from tidelog.base.errors import StorageError
from tidelog.base.ids import uuid_text
from tidelog.metadata.image import ClusterImage, advance
from tidelog.metadata.record_batches import encode_batch
from tidelog.metadata.records import (
    BrokerChanged,
    BrokerRegistered,
    ClusterCreated,
    ConfigChanged,
    Endpoint,
    NewerFormatError,
    PartitionChanged,
    PartitionCreated,
    ProducerIdsAllocated,
    ResourceKind,
    SnapshotBegan,
    SnapshotEnded,
    TopicCreated,
)
from tidelog.metadata.snapshot import encode_snapshot, image_records, read_snapshot

ID = uuid_text(bytes(15) + b"\x01")
FULL = advance(
    ClusterImage(),
    [
        ClusterCreated("c"),
        BrokerRegistered(1, 4, ID, (Endpoint("A", "h", 1), Endpoint("B", "h", 2, "SSL")), "rack", (ID, ID)),
        BrokerChanged(1, 4, fenced=True, shutting_down=True),
        ConfigChanged(ResourceKind.BROKER, "", "log.retention.ms", "7"),
        TopicCreated("a", ID),
        ConfigChanged(ResourceKind.TOPIC, "a", "retention.ms", "7"),
        PartitionCreated(ID, 0, (1, 2), (1,), 1, directories=(ID, ID)),
        PartitionChanged(
            ID,
            0,
            3,
            leader=-1,
            leader_epoch=2,
            replicas=(1, 2, 3),
            adding=(3,),
            removing=(2,),
            directories=(),
        ),
        ProducerIdsAllocated(1, 5000),
    ],
).after


@pytest.fixture
def stored(tmp_path):
    """Writes bytes to a file and opens it."""

    def store(data):
        path = tmp_path / "x.checkpoint"
        path.write_bytes(data)
        return PosixDisk().open(str(path))

    return store


def test_records_of_an_image_lead_back_to_it():
    assert advance(ClusterImage(), image_records(FULL)).after == FULL


@pytest.mark.parametrize("image", [ClusterImage(), FULL])
def test_snapshot_survives_the_disk(stored, image):
    assert read_snapshot(stored(encode_snapshot(image, 77, 5)), 77) == image


def test_every_cut_is_noticed(stored):
    whole = encode_snapshot(FULL, 77, 5)
    for length in range(0, len(whole), 7):
        with pytest.raises(StorageError, match=r"x\.checkpoint at \d+"):
            read_snapshot(stored(whole[:length]), 77)


def test_every_flipped_bit_that_matters_is_noticed(stored):
    whole = encode_snapshot(FULL, 77, 5)
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
    monkeypatch.setattr("tidelog.metadata.record_batches.encode_record", lambda _: b'{"type":"acl-created"}')
    data = bytes(encode_batch([SnapshotBegan(77)], base_offset=0, now_ms=1))
    with pytest.raises(NewerFormatError, match=r"x\.checkpoint at 0: .*newer version"):
        read_snapshot(stored(data), 77)
