"""One write of the metadata quorum's store: everything in a `Ready` of the Raft core, in order.

Term and vote come first: entries of a term must not be there without it. Each step is durable before the next
begins, so that a crash leaves a state the core could have been in.
"""

from tidelog.base.errors import KafkaError, StorageError
from tidelog.base.ids import TimestampMs
from tidelog.base.invariant import invariant
from tidelog.base.ports import Disk
from tidelog.metadata.store.entries.log import EntryLog
from tidelog.metadata.store.install import install
from tidelog.metadata.store.quorum_state import write_state
from tidelog.metadata.store.snapshot import LoadedSnapshot, decode_snapshot
from tidelog.metadata.store.snapshot_files import SnapshotId
from tidelog.raft.entries import Index
from tidelog.raft.ready import Ready, Snapshot


class Write:
    """`run` may run in any thread, but not beside another write of the same store."""

    __slots__ = (
        "_directory",
        "_disk",
        "_entries_needed_from",
        "_entry_log",
        "_now_ms",
        "_roll",
        "done",
        "entry_bytes",
        "error",
        "installed",
        "ready",
    )

    def __init__(
        self,
        disk: Disk,
        directory: str,
        entry_log: EntryLog,
        ready: Ready,
        now_ms: TimestampMs,
        *,
        entries_needed_from: Index,
        roll: bool,
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._entry_log = entry_log
        self._now_ms = now_ms
        self._entries_needed_from = entries_needed_from
        self._roll = roll
        self.ready = ready
        self.installed: LoadedSnapshot | None = None
        """The leader's snapshot, with its image, if there was one."""
        self.entry_bytes = 0
        self.done = False
        self.error: Exception | None = None
        self._check_order()

    def _check_order(self) -> None:
        ready = self.ready
        due = self._entry_log.end
        if ready.install is not None:
            due = ready.install.index + 1
        elif ready.truncate_from is not None:
            due = min(due, ready.truncate_from)
        if ready.entries:
            invariant(ready.first_index == due, "a gap before entries", first=ready.first_index, due=due)

    def run(self) -> None:
        """Never raises: `QuorumStore.finish` checks the result. May run again after the disk was full."""
        self.error = None
        try:
            self._run()
        except (OSError, StorageError, KafkaError) as error:
            self.error = error
        self.done = True

    def _run(self) -> None:
        ready, entry_log = self.ready, self._entry_log
        loaded = None if ready.install is None else _checked(ready.install)  # before anything is replaced
        if ready.hard_state is not None:
            write_state(self._disk, self._directory, ready.hard_state)
        truncate_from = ready.truncate_from
        if loaded is not None and ready.install is not None:
            identity = SnapshotId(loaded.index, loaded.term)
            install(self._disk, self._directory, entry_log, identity, ready.install.data)
            self.installed = loaded
            truncate_from = None
        if truncate_from is not None and truncate_from < entry_log.end:
            self.entry_bytes = entry_log.replace_from(truncate_from, ready.entries, self._now_ms)
        elif ready.entries:
            self.entry_bytes = entry_log.append(ready.entries, self._now_ms, roll=self._roll)
        entry_log.drop_below(self._entries_needed_from)


def _checked(snapshot: Snapshot) -> LoadedSnapshot:
    try:
        loaded = decode_snapshot(snapshot.data)
    except StorageError as error:
        raise type(error)(
            f"the leader's snapshot at index {snapshot.index} cannot be read: {error}"
        ) from error
    if (loaded.index, loaded.term) != (snapshot.index, snapshot.term):
        raise StorageError(
            f"the leader's snapshot at index {snapshot.index} of term {snapshot.term} holds the one at "
            f"{loaded.index} of term {loaded.term}"
        )
    return loaded
