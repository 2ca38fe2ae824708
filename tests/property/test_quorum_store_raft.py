"""Raft on real stores: random schedules in which the power goes in the middle of writes; promises hold."""

import itertools

import pytest

from tests.rigs.raft import member as member_module
from tests.rigs.raft.checks import PromiseBroken
from tests.rigs.raft.disk import DumbDisk
from tests.rigs.raft.schedule import Schedule
from tidelog.base.errors import StorageError
from tidelog.base.invariant import invariant
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.image.records import ClusterCreated
from tidelog.metadata.store import store as quorum_store
from tidelog.metadata.store import write as quorum_write
from tidelog.metadata.store.entries import log as entry_log
from tidelog.metadata.store.entries.data import decode_decision, encode_decision
from tidelog.metadata.store.quorum_state import encode_state
from tidelog.metadata.store.store import LoadedSnapshot, QuorumStore, encode_snapshot
from tidelog.raft.entries import Configuration, Entry, EntryKind
from tidelog.raft.ready import Ready, Restored, Snapshot
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk, PowerCut

DIRECTORY = "/__cluster_metadata-0"
NOW = 1_700_000_000_000


class StoreDisk(DumbDisk):
    """What the dumb disk keeps, kept by a store on a disk that loses what was not synced.

    The schedules' entries and states are bytes without meaning; here they travel in records that have one.
    """

    seeds = itertools.count()

    def __init__(self, storage: bytes, bootstrap: Configuration) -> None:
        super().__init__(storage, bootstrap)
        self.files = MemoryDisk(next(self.seeds))
        self.store: QuorumStore | None = None

    def restored(self) -> Restored:
        """A node comes up: nothing but the files is left of what it knew."""
        self.files.power_cut_at = None
        self.files.crash()
        self.store = store = QuorumStore.open(self.files, DIRECTORY)
        self.hard_state = store.hard_state
        self.entries = [_from_store(entry) for entry in store.entries]
        self.snapshot = _snapshot(store.snapshot) if store.snapshot.index >= 0 else None
        return super().restored()

    def write(self, ready: Ready) -> None:
        if self.store is None:
            return
        wanted = Ready(
            hard_state=ready.hard_state,
            truncate_from=ready.truncate_from,
            install=None if ready.install is None else _install(ready.install),
            first_index=ready.first_index,
            entries=[_to_store(entry) for entry in ready.entries],
        )
        write = self.store.begin(wanted, NOW)
        if write is not None:
            write.run()
            self.store.finish(write)
        super().write(ready)
        invariant(self.store.last_index == self.last_index, "the store and the model differ")

    def save_snapshot(self, snapshot: Snapshot) -> None:
        if self.store is None:
            return
        begun = self.store.begin_snapshot(
            _image(snapshot.data), snapshot.index, snapshot.term, snapshot.configuration, NOW
        )
        if begun is not None:
            begun.run()
            invariant(self.store.finish_snapshot(begun), "no snapshot was kept")
        super().save_snapshot(snapshot)


def _to_store(entry: Entry) -> Entry:
    if entry.kind is not EntryKind.DATA:
        return entry
    return Entry(entry.term, entry.kind, encode_decision([ClusterCreated(entry.data.hex())]))


def _from_store(entry: Entry) -> Entry:
    if entry.kind is not EntryKind.DATA:
        return entry
    (record,) = decode_decision(entry.data)
    return Entry(entry.term, entry.kind, bytes.fromhex(record.cluster_id))


def _image(state: bytes) -> ClusterImage:
    return ClusterImage(cluster_id=state.hex())


def _install(snapshot: Snapshot) -> Snapshot:
    data = encode_snapshot(_image(snapshot.data), snapshot.index, snapshot.term, snapshot.configuration, NOW)
    return Snapshot(snapshot.index, snapshot.term, snapshot.configuration, data)


def _snapshot(loaded: LoadedSnapshot) -> Snapshot:
    invariant(loaded.configuration is not None, "a snapshot without voters")
    return Snapshot(loaded.index, loaded.term, loaded.configuration, bytes.fromhex(loaded.image.cluster_id))


class PowerCutSchedule(Schedule):
    """A node may lose its power at any disk operation of what it does next."""

    cuts = 0

    def _pump(self) -> None:
        node_id = self._any_node()
        files = self.cluster.members[node_id].disk.files
        if self.random.random() < 0.15:
            files.power_cut_at = files.operations + self.random.randint(1, 6)
        try:
            self.cluster.pump(node_id)
            files.power_cut_at = None
        except PowerCut:
            self.cuts += 1
            self._forget_reads(node_id)
            self.cluster.crash(node_id)


@pytest.fixture(autouse=True)
def stores(monkeypatch):
    monkeypatch.setattr(quorum_store, "SNAPSHOT_AFTER_ENTRIES", 1)
    monkeypatch.setattr(StoreDisk, "seeds", itertools.count())
    monkeypatch.setattr(member_module, "DumbDisk", StoreDisk)


def live(seed: int, steps: int = 800) -> int:
    schedule = PowerCutSchedule(seed)
    schedule.run(steps)
    schedule.heal_and_converge()
    return schedule.cuts


@pytest.mark.parametrize("seeds", [range(first, first + 5) for first in range(0, 20, 5)], ids=str)
def test_promises_hold(seeds):
    assert sum(map(live, seeds)) > 0


def _lazy_append(self, entries, now_ms, **_):
    self._size += self._active.write_at(self._size, self._encode(self.end, entries, now_ms))
    self.end += len(entries)
    return 1


def _lazy_vote(disk, directory, state):
    file = disk.open(f"{directory}/quorum-state")
    file.truncate(0)
    file.write_at(0, [encode_state(state)])


@pytest.mark.parametrize(
    "bug",
    [(entry_log.EntryLog, "append", _lazy_append), (quorum_write, "write_state", _lazy_vote)],
    ids=["entries are not synced", "votes are not synced"],
)
def test_seeded_bugs_are_found(bug, monkeypatch):
    """By the promises of Raft, or by the store itself, which finds its files at odds."""
    monkeypatch.setattr(*bug)
    with pytest.raises((PromiseBroken, StorageError)):
        _live_all(range(20))


def _live_all(seeds):
    for seed in seeds:
        live(seed)
