"""The files of a log dir: on one disk, owned by one broker, with a directory for each partition.

Several log dirs are several of these objects; what fails on one disk leaves the others alone.
"""

import errno
import re
from collections.abc import Mapping
from dataclasses import replace

from tidelog.base.errors import StorageError
from tidelog.base.ids import NO_EPOCH, Epoch, Offset, Uuid, uuid_text
from tidelog.base.ports import Disk, Lock, make_directory, read_file, replace_file
from tidelog.storage.log_dir import checkpoints, partition_dir
from tidelog.storage.log_dir.checkpoints import TopicPartition
from tidelog.storage.log_dir.identity import LogDirIdentity
from tidelog.storage.log_dir.partition_dir import PartitionDir
from tidelog.storage.segment.warm import WarmSegments

META = "meta.properties"
LOCK = ".lock"
ENCRYPTION_KEYS = "encryption.keys"
"""Only in an encrypted log dir: its data keys, wrapped."""
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"


class LogDirFiles:
    __slots__ = ("_disk", "_lock", "clean_epoch", "identity", "path", "was_clean")

    def __init__(
        self, disk: Disk, path: str, identity: LogDirIdentity, clean_mark: bytes | None, lock: Lock
    ) -> None:
        self._disk = disk
        self._lock = lock
        self.path = path
        self.identity = identity
        self.was_clean = clean_mark is not None
        """The last owner closed every log cleanly."""
        self.clean_epoch: Epoch = _epoch_in(clean_mark)
        """Under which it was registered then; -1 where it was not, or did not close them."""

    @classmethod
    def open(cls, disk: Disk, path: str, identity: LogDirIdentity) -> "LogDirFiles":
        """Take the log dir for this process. A new one gets `identity`; another broker's is refused.

        An empty cluster or directory id takes on the one that the log dir has.
        """
        path = path.rstrip("/") or "/"
        make_directory(disk, path)
        lock = disk.lock(f"{path}/{LOCK}")
        try:
            identity = cls._check_identity(disk, path, identity)
            mark = read_file(disk, f"{path}/{CLEAN_SHUTDOWN}")
            if mark is not None:  # only the next clean shutdown may write it again
                disk.remove(f"{path}/{CLEAN_SHUTDOWN}")
                disk.sync_dir(path)
        except BaseException:
            lock.release()
            raise
        return cls(disk, path, identity, mark, lock)

    @staticmethod
    def _check_identity(disk: Disk, path: str, expected: LogDirIdentity) -> LogDirIdentity:
        meta = f"{path}/{META}"
        raw = read_file(disk, meta)
        if raw is None:
            replace_file(disk, meta, expected.dump())
            return expected
        found = LogDirIdentity.load(raw, meta)
        if found.node_id != expected.node_id:
            raise StorageError(
                f"{path} belongs to broker {found.node_id}, this one is {expected.node_id} (see {meta}); "
                "give this broker a log dir of its own, or its old node.id"
            )
        if expected.cluster_id and found.cluster_id and found.cluster_id != expected.cluster_id:
            raise StorageError(
                f"{path} belongs to cluster {found.cluster_id}, this one to {expected.cluster_id}; see {meta}"
            )
        return found

    def join_cluster(self, cluster_id: str) -> None:
        """A log dir without a cluster joins this one; one of another cluster is refused."""
        known = self.identity.cluster_id
        if known == cluster_id:
            return
        if known:
            raise StorageError(
                f"{self.path} belongs to cluster {known}, but the metadata belongs to cluster "
                f"{cluster_id}; restore the log dir as it was, or use another one"
            )
        self._change_identity(replace(self.identity, cluster_id=cluster_id))

    def begin_journal(self, journal_id: bytes) -> None:
        """From now on a start must replay the journal with this id. Durable when this returns."""
        self._change_identity(replace(self.identity, journal_id=journal_id.hex()))

    def end_journal(self) -> None:
        """The files of all logs hold everything themselves."""
        if self.identity.journal_id:
            self._change_identity(replace(self.identity, journal_id=""))

    def _change_identity(self, identity: LogDirIdentity) -> None:
        replace_file(self._disk, f"{self.path}/{META}", identity.dump())
        self.identity = identity

    def close(self, *, clean: bool, broker_epoch: Epoch = NO_EPOCH) -> None:
        """Clean: every log was closed and its recovery point written.

        `broker_epoch`: under which this broker was registered.
        """
        try:
            if clean:
                mark = b'{"version":0,"brokerEpoch":%d}\n' % broker_epoch
                replace_file(self._disk, f"{self.path}/{CLEAN_SHUTDOWN}", mark)
        finally:
            self._lock.release()

    # Partitions

    def partitions(self) -> list[PartitionDir]:
        """The partition directories; directories with other names are ignored."""
        return partition_dir.listing(self._disk, self.path)

    def partition_path(self, topic: str, partition: int) -> str:
        return f"{self.path}/{topic}-{partition}"

    def create_partition(self, topic: str, partition: int, topic_id: Uuid) -> str:
        """The directory of a new partition, with its topic's id. The log's first flush makes it durable."""
        path = self.partition_path(topic, partition)
        self._disk.make_dirs(path)
        partition_dir.write_topic_id(self._disk, path, topic_id)
        return path

    def mark_deleted(self, partition: PartitionDir, unique: Uuid, *, sync: bool = True) -> PartitionDir:
        """Rename the directory, so that it counts as deleted whatever happens next; `remove` frees the bytes.

        Without `sync`, for many at once: `sync` must follow.
        """
        if partition.is_deleted:
            return partition
        deleted = partition_dir.deleted_name(partition.topic, partition.partition, uuid_text(unique))
        target = f"{self.path}/{deleted}"
        self._disk.rename(partition.path, target)
        if sync:
            self.sync()
        return partition._replace(path=target, is_deleted=True)

    def sync(self) -> None:
        self._disk.sync_dir(self.path)

    def remove(self, partition: PartitionDir) -> None:
        """May take long; touches nothing but that directory."""
        self._disk.remove_tree(partition.path)

    # Checkpoints

    def read_checkpoint(self, name: str) -> dict[TopicPartition, Offset]:
        return checkpoints.read(self._disk, f"{self.path}/{name}")

    def write_checkpoint(self, name: str, offsets: Mapping[TopicPartition, Offset]) -> None:
        checkpoints.write(self._disk, f"{self.path}/{name}", offsets)

    def look(self) -> tuple[int, int]:
        """Returns (total, usable) bytes. OSError if this is no longer the log dir that was opened, or it
        cannot be written: open files of a deleted or unmounted directory would hide that."""
        meta = f"{self.path}/{META}"
        try:
            self._disk.check_writable(self.path)
            raw = read_file(self._disk, meta)
            found = LogDirIdentity.load(raw or b"", meta).directory_id
        except (FileNotFoundError, StorageError):
            found = None
        if found != self.identity.directory_id:
            raise FileNotFoundError(
                errno.ENOENT, f"it was deleted or unmounted, its {META} is gone", self.path
            )
        return self.free_bytes()

    def free_bytes(self) -> tuple[int, int]:
        """(total, usable)."""
        return self._disk.free_bytes(self.path)


def _epoch_in(clean_mark: bytes | None) -> Epoch:
    """The mark is JSON as Kafka writes it, a few bytes long."""
    found = re.search(rb'"brokerEpoch":\s*(\d{1,18})', clean_mark or b"")
    return int(found[1]) if found else NO_EPOCH


__all__ = [
    "CLEANER_OFFSETS",
    "HIGH_WATERMARKS",
    "LOG_STARTS",
    "RECOVERY_POINTS",
    "LogDirFiles",
    "LogDirIdentity",
    "PartitionDir",
    "WarmSegments",
]
