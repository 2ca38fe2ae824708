"""One node of the box: its disk, its Raft while it is up, and the state that committed entries add up to."""

from collections.abc import Callable

from tests.rigs.raft.disk import DumbDisk, decode_state, encode_state
from tidelog.base.ids import NodeId
from tidelog.base.ports import Random
from tidelog.raft.core import Raft
from tidelog.raft.entries import NO_INDEX, Configuration, Entry, EntryKind, Index
from tidelog.raft.messages import Addressed
from tidelog.raft.ready import ReadResult, Ready, Snapshot
from tidelog.raft.settings import RaftSettings

OnApplied = Callable[["Member", Index, Entry], None]


class Member:
    def __init__(
        self,
        node_id: NodeId,
        bootstrap: Configuration,
        settings: RaftSettings,
        random: Random,
        on_applied: OnApplied,
    ) -> None:
        self.id = node_id
        self.bootstrap = bootstrap
        self.settings = settings
        self.random = random
        self.on_applied = on_applied
        self.disks = 0
        self.starts = 0
        self.installed = 0
        self.raft: Raft | None = None
        self.new_disk()

    def new_disk(self) -> None:
        """The old log dir is lost; a new one has another id."""
        storage = bytes([self.id, self.disks]) + bytes(14)
        self.disks += 1
        self.disk = DumbDisk(storage, self.bootstrap)

    def start(self, now: float) -> None:
        self.starts += 1
        self.state: list[bytes] = []
        self.applied = NO_INDEX
        self.reads: list[ReadResult] = []
        if self.disk.snapshot is not None:
            self._load(self.disk.snapshot)
        self.raft = Raft(
            node_id=self.id,
            storage_id=self.disk.storage,
            address=f"host:{9000 + self.id}",
            restored=self.disk.restored(),
            settings=self.settings,
            random=self.random,
            now=now,
            snapshot_source=lambda: self.disk.snapshot,
            seeds=self.bootstrap.voters,
        )

    def crash(self) -> None:
        self.raft = None

    def take_ready(self) -> Ready | None:
        return None if self.raft is None else self.raft.ready()

    def obey(self, ready: Ready) -> list[Addressed]:
        """Disk first, then the messages, then the state. A crash before this call loses all of it."""
        self.disk.write(ready)
        if ready.install is not None:
            self._load(ready.install)
            self.installed += 1
        for index, entry in ready.committed:
            self._apply(index, entry)
        self.reads += ready.reads
        if self.raft is not None:
            self.raft.done(ready)
        return ready.messages

    def _load(self, snapshot: Snapshot) -> None:
        self.state = decode_state(snapshot.data)
        self.applied = snapshot.index

    def _apply(self, index: Index, entry: Entry) -> None:
        self.applied = index
        if entry.kind is EntryKind.DATA:
            self.state.append(entry.data)
        self.on_applied(self, index, entry)

    def compact(self) -> None:
        """Take a snapshot of the applied state and let the log go."""
        raft = self.raft
        if raft is None or self.applied <= self.disk.base[0]:
            return
        term = raft.term_at(self.applied)
        if term is None:
            return
        configuration = raft.configuration_at(self.applied)
        self.disk.save_snapshot(Snapshot(self.applied, term, configuration, encode_state(self.state)))
        raft.compact(self.applied)
