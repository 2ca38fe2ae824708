"""A metadata log of the version before the quorum is taken over whole, whenever the power goes."""

import pytest

from tidelog.base.errors import StorageError
from tidelog.base.ids import uuid_text
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
from tidelog.metadata.store.store import QuorumStore
from tidelog.raft.entries import Configuration, Entry, EntryKind, Voter
from tidelog.raft.ready import HardState, Ready
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk, PowerCut
from tidelog.wire.record import Record, write_batch

FOLDER = "/data/__cluster_metadata-0"
NOW = 1_700_000_000_000


def decision(number):
    topic_id = uuid_text((number + 1).to_bytes(16, "big"))
    return [
        TopicCreated(f"topic-{number}", topic_id),
        PartitionCreated(topic_id, 0, (1,), (1,), 1),
        PartitionCreated(topic_id, 1, (1,), (1,), 1),
    ]


class EarlierVersion:
    """Writes files as it did: a batch for each decision, a segment for each part, snapshots by offset."""

    def __init__(self, seed: int = 0) -> None:
        self.disk = MemoryDisk(seed)
        self.disk.make_dirs(FOLDER)
        self.image = ClusterImage()
        self.end = 0

    def segment(self, *decisions):
        parts = []
        base = self.end
        for records in decisions:
            parts.append(encode_batch(records, base_offset=self.end, now_ms=NOW))
            self.end += len(records)
            self.image = advance(self.image, records).after
        self.put(f"{base:020d}.log", b"".join(parts))
        self.put(f"{base:020d}.index", b"")
        self.put(f"{base:020d}.timeindex", b"")

    def snapshot(self):
        body = list(image_records(self.image))
        records = [SnapshotBegan(self.end, NOW), *body, SnapshotEnded(len(body))]
        self.put(f"{self.end:020d}.checkpoint", bytes(encode_batch(records, base_offset=0, now_ms=NOW)))

    def put(self, name, data):
        file = self.disk.open(f"{FOLDER}/{name}", create=True)
        file.truncate(0)
        file.write_at(0, [data])
        file.sync()
        for folder in (FOLDER, "/data", "/"):
            self.disk.sync_dir(folder)

    def take_over(self):
        return QuorumStore.open(self.disk, FOLDER, NOW)


def used(seed=0):
    earlier = EarlierVersion(seed)
    earlier.segment([ClusterCreated("c"), *decision(0)], decision(1))
    earlier.snapshot()
    earlier.segment(decision(2), decision(3))
    earlier.put("leader-epoch-checkpoint", b"0\n1\n0 0\n")
    return earlier


def check(store, earlier):
    assert store.snapshot.image == earlier.image
    assert (store.snapshot.index, store.snapshot.term) == (earlier.end - 1, 0)
    assert store.snapshot.configuration is None
    assert store.hard_state == HardState()
    assert list(store.entries) == []
    assert store.last_index == earlier.end - 1


def test_records_become_a_snapshot_and_the_log_goes_on():
    earlier = used()
    store = earlier.take_over()
    check(store, earlier)
    write = store.begin(
        Ready(hard_state=HardState(1, 1), first_index=earlier.end, entries=[Entry(1, EntryKind.NOOP)]), NOW
    )
    write.run()
    store.finish(write)
    again = earlier.take_over()
    assert again.snapshot.image == earlier.image
    assert list(again.entries) == [Entry(1, EntryKind.NOOP)]
    assert again.hard_state == HardState(1, 1)


def test_snapshot_that_names_the_voters_follows_soon():
    earlier = used()
    store = earlier.take_over()
    assert store.read_snapshot() is None  # no follower could begin with it
    voters = Configuration((Voter(1, "a:1"),))
    assert store.begin_snapshot(earlier.image, earlier.end - 1, 0, voters, NOW) is None
    write = store.begin(Ready(first_index=earlier.end, entries=[Entry(1, EntryKind.NOOP)]), NOW)
    write.run()
    store.finish(write)
    begun = store.begin_snapshot(earlier.image, earlier.end, 1, voters, NOW)
    begun.run()
    assert store.finish_snapshot(begun)
    assert store.read_snapshot().configuration == voters
    assert store.begin_snapshot(earlier.image, earlier.end, 1, voters, NOW) is None


def test_nothing_of_the_earlier_form_is_left():
    earlier = used()
    earlier.take_over()
    assert earlier.disk.names(FOLDER) == [
        f"{earlier.end - 1:020d}-0000000000.checkpoint",
        f"{earlier.end:020d}.log",
        "quorum-state",
    ]


def test_log_that_had_just_rolled():
    earlier = used()
    earlier.snapshot()
    earlier.segment()
    check(earlier.take_over(), earlier)
    check(earlier.take_over(), earlier)


def test_empty_log_is_as_good_as_none():
    earlier = EarlierVersion()
    earlier.segment()
    store = earlier.take_over()
    assert store.last_index == -1
    assert store.snapshot.index == -1
    assert earlier.take_over().last_index == -1


def test_torn_tail_is_cut():
    earlier = used()
    last = f"{FOLDER}/{7:020d}.log"
    file = earlier.disk.open(last)
    file.write_at(file.size(), [b"\0" * 3, b"x" * 50])
    check(earlier.take_over(), earlier)


def test_damaged_log_is_not_taken_over():
    earlier = used()
    earlier.disk.flip_bit(f"{FOLDER}/{7:020d}.log", 70)
    before = earlier.disk.names(FOLDER)
    with pytest.raises(StorageError, match=r"7\.log at 0: the metadata log is damaged"):
        earlier.take_over()
    assert earlier.disk.names(FOLDER) == before


def test_damaged_snapshot_is_made_up_for_by_the_log():
    earlier = used()
    earlier.disk.flip_bit(f"{FOLDER}/{7:020d}.checkpoint", 70)
    check(earlier.take_over(), earlier)


def test_snapshot_stands_for_the_log_below_it():
    earlier = used()
    earlier.disk.remove(f"{FOLDER}/{0:020d}.log")
    check(earlier.take_over(), earlier)


def test_missing_part_is_not_taken_over():
    earlier = used()
    earlier.disk.remove(f"{FOLDER}/{0:020d}.log")
    earlier.disk.remove(f"{FOLDER}/{7:020d}.checkpoint")
    with pytest.raises(
        StorageError, match=r"7\.log at 0: the log begins at offset 7, and no readable snapshot"
    ):
        earlier.take_over()


def test_gap_is_not_taken_over():
    earlier = used()
    earlier.end += 1
    earlier.segment(decision(9))
    with pytest.raises(StorageError, match=r"the segment begins at offset 14 where 13 is due"):
        earlier.take_over()


def test_record_of_a_newer_version_is_not_taken_over():
    earlier = used()
    slot = Record(earlier.end, NOW, None, b'{"type":"quota-set"}', [])
    earlier.put(f"{earlier.end:020d}.log", bytes(write_batch([slot], base_offset=earlier.end)))
    with pytest.raises(NewerFormatError, match=r"\.log at 0: .*'quota-set': a newer version"):
        earlier.take_over()


def test_records_that_do_not_fit_are_not_taken_over():
    earlier = used()
    earlier.put(
        f"{earlier.end:020d}.log", bytes(encode_batch(decision(0), base_offset=earlier.end, now_ms=1))
    )
    with pytest.raises(StorageError, match=r"\.log at 0: a metadata record does not fit"):
        earlier.take_over()


def test_power_cut_at_every_operation():
    earlier = used()
    before = earlier.disk.operations
    check(earlier.take_over(), earlier)
    operations = earlier.disk.operations - before
    assert operations > 10
    for cut_at in range(1, operations + 1):
        for seed in range(4):
            earlier = used(seed)
            earlier.disk.power_cut_at = earlier.disk.operations + cut_at
            with pytest.raises(PowerCut):
                earlier.take_over()
            earlier.disk.crash()
            check(earlier.take_over(), earlier)
            earlier.disk.crash()
            check(earlier.take_over(), earlier)
