import pytest

from tidelog.base.errors import StorageError
from tidelog.base.ids import uuid_text
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.image.records import ClusterCreated, NewerFormatError, PartitionCreated, TopicCreated
from tidelog.metadata.store.snapshot import (
    LoadedSnapshot,
    decode_configuration,
    decode_snapshot,
    encode_snapshot,
)
from tidelog.raft.entries import Configuration, Voter
from tidelog.wire.record import Record, write_batch

VOTERS = Configuration((Voter(1, "a:9092", b"s" * 16), Voter(2, "b:9092", None, True)))


def image(topics=3):
    records = [ClusterCreated("c")]
    for number in range(topics):
        topic_id = uuid_text((number + 1).to_bytes(16, "big"))
        records += [TopicCreated(f"t{number}", topic_id), PartitionCreated(topic_id, 0, (1,), (1,), 1)]
    return advance(ClusterImage(), records).after


@pytest.mark.parametrize("stored", [ClusterImage(), image(), image(1500)])
def test_snapshot_survives_its_bytes(stored):
    data = encode_snapshot(stored, 77, 5, VOTERS, 1)
    assert decode_snapshot(data) == LoadedSnapshot(77, 5, VOTERS, stored)
    assert decode_configuration(data) == VOTERS


def test_every_truncation_is_noticed():
    whole = encode_snapshot(image(), 77, 5, VOTERS, 1)
    for length in range(len(whole)):
        with pytest.raises(StorageError, match=r"^at \d+: "):
            decode_snapshot(whole[:length])
    with pytest.raises(StorageError):
        decode_snapshot(whole + b"\0" * 100)


def test_every_flipped_bit_that_matters_is_noticed():
    whole = encode_snapshot(image(), 77, 5, VOTERS, 1)
    for position in range(len(whole)):
        flipped = bytearray(whole)
        flipped[position] ^= 1 << position % 8
        try:
            # The epochs of its batches mean nothing.
            assert decode_snapshot(bytes(flipped)) == LoadedSnapshot(77, 5, VOTERS, image())
        except StorageError:
            pass


def head(value, key=b"snapshot"):
    return bytes(write_batch([Record(0, 1, key, value, [])]))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"junk" * 100,
        head(b"junk"),
        head(b"{}"),
        head(b'{"version":1,"index":1,"term":1,"configuration":{},"written_ms":1,"records":0}'),
        head(b'{"version":1,"index":1,"term":1,"configuration":null,"written_ms":1,"records":1}'),
        head(b'{"version":1,"index":1,"term":1,"configuration":null,"written_ms":1,"records":0}', b"x"),
        head(b'{"version":1,"index":1,"term":1,"configuration":null,"written_ms":1,"records":0,"x":1}'),
    ],
)
def test_what_is_no_snapshot(data):
    with pytest.raises(StorageError, match=r"^at \d+: "):
        decode_snapshot(data)


def test_newer_version_is_no_damage():
    with pytest.raises(NewerFormatError, match="unknown version 2: a newer version"):
        decode_snapshot(head(b'{"version":2,"shards":[]}'))
