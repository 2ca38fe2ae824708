"""The snapshot files of the metadata quorum: `<index>-<term>.checkpoint`, the two newest of them.

Two, so that a damaged one can be passed over: the log is kept from the older one on. A snapshot that came
from the leader is `<index>-<term>.install` until the log that it replaces is removed: see `install`.
"""

import logging

import msgspec

from tidelog.base.errors import StorageError
from tidelog.base.ids import TimestampMs
from tidelog.base.ports import Disk, read_file, replace_file
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.image.records import NewerFormatError
from tidelog.metadata.store.snapshot import (
    LoadedSnapshot,
    decode_configuration,
    decode_snapshot,
    encode_snapshot,
)
from tidelog.raft.entries import NO_INDEX, Configuration, Index, Term
from tidelog.raft.ready import Snapshot
from tidelog.storage.file_names import file_name, parse

CHECKPOINT = ".checkpoint"
INSTALL = ".install"
DAMAGED = ".damaged"
KEPT = 2

log = logging.getLogger("tidelog.metadata")


class SnapshotId(msgspec.Struct, frozen=True, order=True):
    index: Index
    term: Term

    def path(self, directory: str, suffix: str = CHECKPOINT) -> str:
        return f"{directory}/{file_name(self.index, f'-{self.term:010d}{suffix}')}"


def parse_snapshot_name(name: str, suffix: str = CHECKPOINT) -> SnapshotId | None:
    parsed = parse(name)
    if parsed is None or not parsed[1].endswith(suffix):
        return None
    term = parsed[1].removesuffix(suffix)
    if len(term) != 11 or term[0] != "-" or not term[1:].isascii() or not term[1:].isdigit():
        return None
    return SnapshotId(parsed[0], int(term[1:]))


def read_snapshot_file(disk: Disk, path: str, identity: SnapshotId) -> LoadedSnapshot:
    """StorageError with file and position unless it is complete and matches its name."""
    try:
        loaded = decode_snapshot(read_file(disk, path) or b"")
    except StorageError as error:
        raise type(error)(f"{path} {error}") from error
    if SnapshotId(loaded.index, loaded.term) != identity:
        raise StorageError(f"{path} at 0: it holds the snapshot at {loaded.index} of term {loaded.term}")
    return loaded


class SnapshotWrite:
    """A snapshot on its way to the disk; `run` may run in any thread, since an image never changes."""

    def __init__(
        self,
        disk: Disk,
        directory: str,
        identity: SnapshotId,
        *,
        image: ClusterImage,
        configuration: Configuration,
        now_ms: TimestampMs,
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._image = image
        self._configuration = configuration
        self._now_ms = now_ms
        self.id = identity
        self.done = False
        self.error: OSError | None = None

    def run(self) -> None:
        """Never raises: a snapshot saves time and room, and nothing is lost without it."""
        try:
            data = encode_snapshot(
                self._image, self.id.index, self.id.term, self._configuration, self._now_ms
            )
            replace_file(self._disk, self.id.path(self._directory), data)
        except OSError as error:
            self.error = error
        self.done = True


class SnapshotFiles:
    """Which snapshots there are; used on one thread."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self._directory = directory
        self.ids = sorted(
            identity for name in disk.names(directory) if (identity := parse_snapshot_name(name))
        )
        self.newest_ever = self.ids[-1].index if self.ids else NO_INDEX
        """The newest index at the start, readable or not: the log must reach up to it."""
        self.damaged: list[SnapshotId] = []

    @property
    def newest_index(self) -> Index:
        return self.ids[-1].index if self.ids else NO_INDEX

    @property
    def entries_needed_from(self) -> Index:
        """The log is needed from this index on."""
        return self.ids[0].index + 1 if len(self.ids) >= KEPT else 0

    def load_newest(self) -> LoadedSnapshot:
        """Returns the newest readable snapshot. Reading the log shows whether it makes up for a
        damaged one."""
        for identity in reversed(list(self.ids)):
            path = identity.path(self._directory)
            try:
                return read_snapshot_file(self._disk, path, identity)
            except NewerFormatError:
                raise
            except StorageError as error:
                log.warning("skipped a damaged snapshot of the metadata: %s", error)
                self.ids.remove(identity)
                self.damaged.append(identity)
        return LoadedSnapshot()

    @property
    def damaged_paths(self) -> list[str]:
        return [identity.path(self._directory) for identity in self.damaged]

    def set_damaged_aside(self) -> None:
        """Rename the damaged snapshots, which the log makes up for; kept for analysis."""
        for identity in self.damaged:
            path = identity.path(self._directory)
            self._disk.rename(path, path + DAMAGED)
        self.damaged.clear()

    def read_newest(self) -> Snapshot | None:
        """The newest snapshot as bytes, to be sent to a follower; None if there is none."""
        if not self.ids:
            return None
        identity = self.ids[-1]
        data = read_file(self._disk, identity.path(self._directory)) or b""
        return Snapshot(identity.index, identity.term, decode_configuration(data), data)

    def add(self, identity: SnapshotId) -> bool:
        """Add a durable snapshot and drop the oldest. False if a newer one from the leader is there
        already."""
        is_newest = identity.index > self.newest_index
        self.ids.append(identity)
        self._drop(self.ids[:-KEPT] if is_newest else [identity])
        return is_newest

    def replace_all(self, identity: SnapshotId) -> None:
        """The leader's snapshot replaces all others, which belong to a log that is removed."""
        self._drop([other for other in self.ids if other != identity])
        self.ids = [identity]

    def _drop(self, ids: list[SnapshotId]) -> None:
        try:
            for identity in ids:
                self._disk.remove(identity.path(self._directory))
                self.ids.remove(identity)
        except OSError as error:
            log.warning("an old snapshot of the metadata could not be removed: %s", error)
