"""Power is cut at every disk operation of a quorum node's life, and bits flip: no promise may be broken.

The model keeps every entry since the beginning. What `finish` has confirmed must be there after a crash; of
the write that was under way there may be a part, in the order it was to be carried out, and nothing else.
"""

import hashlib
import random

import pytest

from tidelog.base.errors import StorageError
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.image.records import ClusterCreated
from tidelog.metadata.store import install as quorum_install
from tidelog.metadata.store import store as quorum_store
from tidelog.metadata.store import write as quorum_write
from tidelog.metadata.store.entries import log as entry_log
from tidelog.metadata.store.entries.data import encode_decision
from tidelog.metadata.store.quorum_state import encode_state
from tidelog.metadata.store.store import QuorumStore, encode_snapshot
from tidelog.raft.entries import Configuration, Entry, EntryKind, Voter
from tidelog.raft.ready import HardState, Ready, Snapshot
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk, PowerCut
from tidelog.wire.batch import iter_batches

DIRECTORY = "/data/__cluster_metadata-0"
NOW = 1_700_000_000_000
VOTERS = Configuration((Voter(1, "a:1"),))


@pytest.fixture(autouse=True)
def eager_snapshots(monkeypatch):
    monkeypatch.setattr(quorum_store, "SNAPSHOT_AFTER_ENTRIES", 1)


def image_of(log: list[Entry]) -> ClusterImage:
    """Any image will do that no other log leads to."""
    return ClusterImage(cluster_id=hashlib.sha1(repr(log).encode()).hexdigest())


class Life:
    """A node that writes, is cut off, and comes back. `log` holds all entries that were confirmed."""

    def __init__(self, seed: int, disk: MemoryDisk | None = None) -> None:
        self.disk = disk or MemoryDisk(seed)
        self.disk.make_dirs("/data")
        self.disk.sync_dir("/")
        self.rng = random.Random(seed)
        self.hard_state = HardState()
        self.log: list[Entry] = []
        self.begun: Ready | None = None
        self.begun_log: list[list[Entry]] = []
        self.compacted = -1
        self.serial = 0

    def open(self) -> QuorumStore:
        """Whatever was found is what holds from now on."""
        store = QuorumStore.open(self.disk, DIRECTORY)
        self.check(store)
        self.begun = None
        return store

    def run(self, steps: int) -> None:
        store = self.open()
        for _ in range(steps):
            action = self.rng.choices(
                ["append", "vote", "replace", "truncate", "install", "snapshot", "reopen"],
                [8, 3, 3, 1, 1, 3, 1],
            )[0]
            if action == "reopen":
                store.close()
                store = self.open()
            elif action == "snapshot":
                self.snapshot(store)
            else:
                self.write(store, self.ready(action))

    # What the core may want

    def ready(self, action: str) -> Ready:
        ready = Ready(first_index=len(self.log))
        if action == "vote" or self.rng.random() < 0.3:
            ready.hard_state = HardState(self.hard_state.term + 1, self.rng.choice((None, 1, 2, 3)))
        term = (ready.hard_state or self.hard_state).term
        if action in ("replace", "truncate"):
            cut = self.rng.randint(max(self.compacted + 1, len(self.log) - 8), len(self.log))
            ready.truncate_from = ready.first_index = cut
        elif action == "install":
            index = max(self.compacted + 1, len(self.log) + self.rng.randint(-5, 8))
            before = [self.entry(min(term, self.last_term)) for _ in range(index + 1)]
            data = encode_snapshot(image_of(before), index, before[-1].term, VOTERS, NOW)
            ready.install = Snapshot(index, before[-1].term, VOTERS, data)
            ready.first_index = index + 1
            self.leaders_log = before
        if action in ("append", "replace") or self.rng.random() < 0.2:
            ready.entries = [self.entry(term) for _ in range(self.rng.choice((1, 1, 2, 5)))]
        return ready

    @property
    def last_term(self) -> int:
        return self.log[-1].term if self.log else 0

    def entry(self, term: int) -> Entry:
        self.serial += 1
        kind = self.rng.choice(list(EntryKind))
        if kind is EntryKind.NOOP:
            return Entry(term, kind)
        if kind is EntryKind.CONFIG:
            return Entry(term, kind, Configuration((Voter(self.serial, "a:1"),)).encode())
        size = self.rng.choice((0, 10, 100, 700, 3000))
        return Entry(term, kind, encode_decision([ClusterCreated(f"{self.serial}:{'x' * size}")]))

    # Doing it

    def write(self, store: QuorumStore, ready: Ready) -> None:
        # The states in which a crash may leave the log, oldest first; the last one is the goal.
        kept = self.log
        states = [kept]
        if ready.install is not None:
            kept = self.leaders_log
        elif ready.truncate_from is not None:
            cut = ready.truncate_from
            states = [kept[:end] for end in range(len(kept), cut, -1)] or states
            kept = kept[:cut]
        states += [kept + ready.entries[:count] for count in range(len(ready.entries) + 1)]
        self.begun, self.begun_log = ready, states
        write = store.begin(ready, NOW)
        if write is not None:
            write.run()
            store.finish(write)
        self.begun = None
        self.hard_state = ready.hard_state or self.hard_state
        self.log = states[-1]
        if ready.install is not None:
            self.compacted = ready.install.index
        assert store.last_index == len(self.log) - 1

    def snapshot(self, store: QuorumStore) -> None:
        """Beside a write, or between two of them."""
        if not self.log:
            return
        index = self.rng.randint(max(0, len(self.log) - 6), len(self.log) - 1)
        image = image_of(self.log[: index + 1])
        begun = store.begin_snapshot(image, index, self.log[index].term, VOTERS, NOW)
        if begun is None:
            return
        before = self.compacted
        self.compacted = max(before, index)  # what is in it is committed and never truncated
        during = self.rng.random()
        if during < 0.3:
            self.write(store, self.ready("append"))
        begun.run()
        if 0.2 < during < 0.5:
            self.write(store, self.ready("install"))
        store.finish_snapshot(begun)

    # What must hold

    def check(self, store: QuorumStore) -> None:
        candidates = self.begun_log if self.begun is not None else [self.log]
        snapshot, entries = store.snapshot, list(store.entries)
        found = [log for log in candidates if _holds(log, snapshot, entries)]
        assert found, f"up to {snapshot.index} and {len(entries)} entries, of {[*map(len, candidates)]}"
        hard_states = [self.hard_state]
        if self.begun is not None and self.begun.hard_state is not None:
            hard_states.append(self.begun.hard_state)
            if found[0] != self.log:  # it went on with the log, so term and vote must be there
                hard_states = hard_states[1:]
        assert store.hard_state in hard_states
        self.log, self.hard_state = found[0], store.hard_state
        assert self.last_term <= self.hard_state.term
        self.compacted = max(snapshot.index, min(self.compacted, len(self.log) - 1))


def _holds(log, snapshot, entries):
    index = snapshot.index
    if index + 1 + len(entries) != len(log) or log[index + 1 :] != entries:
        return False
    if index < 0:
        return True
    return snapshot.image == image_of(log[: index + 1]) and snapshot.term == log[index].term


def operations_of(seed: int, steps: int) -> int:
    life = Life(seed)
    life.run(steps)
    return life.disk.operations


def cut_everywhere(seed: int, steps: int, stride: int = 1) -> None:
    for cut_at in range(2, operations_of(seed, steps) + 1, stride):
        life = Life(seed)
        life.disk.power_cut_at = cut_at
        with pytest.raises(PowerCut):
            life.run(steps)
        life.disk.crash()
        life.run(3)
        life.disk.crash()  # nothing was under way, so nothing may be missing
        life.open()


@pytest.mark.parametrize("seed", range(8))
def test_power_cut_at_every_operation(seed):
    cut_everywhere(seed, steps=25)


@pytest.mark.parametrize("seed", range(40))
def test_power_cuts_again_and_again_also_during_recovery(seed):
    life = Life(seed)
    for round_ in range(25):
        life.disk.power_cut_at = life.disk.operations + 1 + (seed * 7 + round_ * 5) % 31
        try:
            life.run(30)
        except PowerCut:
            life.disk.crash()
    life.disk.power_cut_at = None
    life.run(5)
    life.disk.crash()
    life.open()


@pytest.mark.parametrize("seed", range(60))
def test_flipped_bit_is_noticed_or_does_not_matter(seed):
    life = Life(seed)
    life.run(30)
    life.disk.crash()
    names = [name for name in life.disk.names(DIRECTORY) if life.disk.size(f"{DIRECTORY}/{name}")]
    noticed = 0
    for _ in range(12):
        path = f"{DIRECTORY}/{life.rng.choice(names)}"
        position, bit = life.rng.randrange(life.disk.size(path)), life.rng.randrange(8)
        life.disk.flip_bit(path, position, bit)
        before = life.disk.operations
        try:
            store = QuorumStore.open(life.disk, DIRECTORY)
        except StorageError:
            noticed += 1
        else:
            life.check(store)
            if ".checkpoint" in path:
                return  # it was set aside, and the log made up for it
        life.disk.flip_bit(path, position, bit)
        assert life.disk.operations - before < 5, "what is damaged must not be touched"
    assert noticed or seed  # most seeds notice; the first one always does


def cut_lives(seeds):
    for seed in seeds:
        cut_everywhere(seed, steps=25, stride=3)


# The checks above can fail: each of these is a bug that they find.


def lazy_append(self, entries, now_ms, **_):
    self._active.write_at(self._size, self._encode(self.end, entries, now_ms))
    self._size = self._active.size()
    self.end += len(entries)
    return 1


def truncate_in_place(self, index, entries, now_ms):
    """Without a word about it first: a crash may leave the later entries."""
    self._drop_files(above=index)
    position = 0
    for at, header in iter_batches(self._active.read_at(0, self._size)):
        if header.base_offset >= index:
            break
        position = at + header.size
    self._active.truncate(position)
    self._size = position
    self.end = index
    return self.append(entries, now_ms) if entries else 0


def unsynced_replace(disk, path, data):
    file = disk.open(path + ".tmp", create=True)
    file.truncate(0)
    file.write_at(0, [data])
    disk.rename(path + ".tmp", path)
    disk.sync_dir(path.rpartition("/")[0])


def forgetful_write_state(disk, directory, state):
    """The vote is only written, not synced."""
    unsynced_replace(disk, f"{directory}/quorum-state", encode_state(state))


def hasty_install(disk, directory, log, identity, data):
    """The log goes before the snapshot is there."""
    log.restart_at(identity.index + 1)
    quorum_install.replace_file(disk, identity.path(directory), data)


BUGS = {
    "entries are not synced": (entry_log.EntryLog, "append", lazy_append),
    "entries are cut in place": (entry_log.EntryLog, "replace_from", truncate_in_place),
    "the vote is not synced": (quorum_write, "write_state", forgetful_write_state),
    "the log goes before the snapshot comes": (quorum_write, "install", hasty_install),
    "the leader's snapshot is not synced": (quorum_install, "replace_file", unsynced_replace),
}


@pytest.mark.parametrize("bug", BUGS)
def test_seeded_bugs_are_found(bug, monkeypatch):
    monkeypatch.setattr(*BUGS[bug])
    with pytest.raises((AssertionError, StorageError)):
        cut_lives(range(12))
