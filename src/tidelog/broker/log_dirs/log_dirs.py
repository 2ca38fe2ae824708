"""The log dirs of a broker, and which partition lives in which of them.

Partition directories of unknown topics are renamed, never deleted: the metadata may be what was lost.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from tidelog.base.errors import StorageError, TidelogError
from tidelog.base.ids import NO_EPOCH, Epoch, NodeId, Offset, Uuid, uuid_from_random, uuid_text
from tidelog.base.ports import Disk, Random, read_file
from tidelog.broker.log_dirs.log_dir import LogDir
from tidelog.metadata.brokers.registration_rules import CRASHED_SYNCED
from tidelog.metadata.topics.names import is_internal
from tidelog.replication.partition import Partition
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_dir.checkpoints import TopicPartition
from tidelog.storage.log_dir.files import META, LogDirFiles, LogDirIdentity, PartitionDir
from tidelog.storage.segment.warm import WarmSegments


class SwapFailed(TidelogError):
    """A copy could not replace its log, and neither may be touched before the next start."""


class LogDirs:
    def __init__(self, log_dirs: Sequence[LogDir], warm: WarmSegments) -> None:
        self._log_dirs = list(log_dirs)
        self.warm = warm
        """What the logs that are served share; those that a thread works on are not among them."""
        self.files_max = sys.maxsize
        """No log is opened with a descriptor from this one on: the rest is for what the broker must do."""
        self.broker_epoch: Callable[[], Epoch] = lambda: NO_EPOCH
        """Of this process, once it is registered: what a clean end is marked with."""
        epochs = {log_dir.clean_epoch for log_dir in log_dirs if log_dir.offline is None}
        self.clean_epoch: Epoch = epochs.pop() if len(epochs) == 1 else NO_EPOCH
        """Of the process that used the log dirs last, if it shut down cleanly; -1 otherwise."""

    @classmethod
    def open(
        cls,
        disk: Disk,
        paths: Sequence[str],
        *,
        cluster_id: str | None,
        node_id: NodeId,
        random: Random,
        journal_bytes: int = 0,
        journal_logs_min: int = 2,
    ) -> "LogDirs":
        """Log dirs remember their cluster, which must be the configured one.

        New ones have none before the broker has joined its cluster: see `join_cluster`.
        `journal_bytes`: how large the journal of each log dir may get; 0 for none. `journal_logs_min`: how
        many logs must need a sync at once to share it there.
        """
        remembered = _remembered_cluster(disk, paths)
        if cluster_id and remembered and remembered[0] != cluster_id:
            raise StorageError(
                f"{remembered[1]} belongs to cluster {remembered[0]}, and cluster.id is {cluster_id}; give "
                "this broker the log dir of its own cluster, or an empty one"
            )
        cluster_id = remembered[0] if remembered else ""
        warm = WarmSegments()
        log_dirs = [LogDir(disk, path) for path in paths]
        try:
            for log_dir in log_dirs:
                fresh = uuid_text(uuid_from_random(random.bytes(16)))
                log_dir.open(LogDirIdentity(cluster_id, node_id, fresh))
                log_dir.use_journal(journal_bytes, journal_logs_min, lambda: random.bytes(16))
        except BaseException:
            for log_dir in log_dirs:
                log_dir.close()
            raise
        opened = cls(log_dirs, warm)
        if opened.first.offline is not None:
            opened.close()
            raise StorageError(
                f"log dir {opened.first.path} holds the cluster's metadata and cannot be used: "
                f"{opened.first.offline}"
            )
        return opened

    def __iter__(self) -> Iterator[LogDir]:
        return iter(self._log_dirs)

    def __len__(self) -> int:
        return len(self._log_dirs)

    @property
    def first(self) -> LogDir:
        return self._log_dirs[0]

    @property
    def cluster_id(self) -> str:
        """Empty for a broker that has never been part of one."""
        return self.first.files.identity.cluster_id

    def join_cluster(self, cluster_id: str) -> None:
        """Checks that the log dirs belong to this cluster; a new log dir joins it for good."""
        for log_dir in self._log_dirs:
            if log_dir.offline is None:
                log_dir.files.join_cluster(cluster_id)

    def high_watermark(self, topic: str, topic_id: Uuid, index: int) -> Offset | None:
        """The high watermark in the last checkpoint."""
        for log_dir in self._log_dirs:
            if (topic_id, index) in log_dir.partition_dirs:
                return log_dir.checkpoints.high_watermarks.get((topic, index))
        return None

    def reserve_descriptors(self, files_max: int, warm_max: int) -> None:
        """Logs leave the descriptors from `files_max` on; sealed segments share `warm_max` of them."""
        self.files_max = files_max
        self.warm.files_max = min(self.warm.files_max, warm_max)

    @property
    def ids(self) -> list[Uuid]:
        return [log_dir.id for log_dir in self._log_dirs if log_dir.offline is None]

    @property
    def offline_ids(self) -> list[Uuid]:
        """Log dirs that were in use and whose disk failed since."""
        return [
            log_dir.known_id for log_dir in self._log_dirs if log_dir.offline is not None and log_dir.known_id
        ]

    @property
    def all_clean(self) -> bool:
        return all(log_dir.was_clean for log_dir in self._log_dirs)

    def previous_epoch(self, *, is_synced_first: bool) -> Epoch:
        """Of the process before, if it ended in order. Else it may have synced what it acknowledged, which is
        there unless a journal was damaged: it may have had records that no file has."""
        if self.clean_epoch != NO_EPOCH:
            return self.clean_epoch
        is_whole = not any(log_dir.journal_was_damaged for log_dir in self._log_dirs)
        return CRASHED_SYNCED if is_synced_first and is_whole else NO_EPOCH

    def log_dir_of(self, topic_id: Uuid, index: int) -> LogDir | None:
        return next(
            (log_dir for log_dir in self._log_dirs if (topic_id, index) in log_dir.partition_dirs), None
        )

    @property
    def offline(self) -> list[str]:
        """Paths of the log dirs that cannot be read."""
        return [log_dir.path for log_dir in self._log_dirs if log_dir.offline is not None]

    def put_in_service(self, topic: str, log: PartitionLog) -> None:
        """From now on clients use this log. Internal topics may use the reserve of free space."""
        log.share(self.warm)
        log_dir = next((one for one in self._log_dirs if one.holds(log.directory)), None)
        if log_dir is not None:
            log.journal = log_dir.journal
            if not is_internal(topic):
                log.health.reserve = log_dir.reserve

    def log_dir_for(
        self, topic: str, topic_id: Uuid, index: int, *, may_be_new: bool, is_damaged: bool = False
    ) -> LogDir:
        """Where the partition lives, or where a new one should.

        A partition that is not new and in no log dir may be in one that is offline. Created again elsewhere
        it would be empty, and there would be two of it once that log dir is back: StorageError. The same goes
        for a damaged partition that the cluster counts on: empty, it would pass for a repaired one, and lead.
        """
        for log_dir in self._log_dirs:
            if log_dir.offline is None and log_dir.has_partition(topic, topic_id, index):
                return log_dir
        if not may_be_new and self.offline:
            raise StorageError(f"it may be in a log dir that is offline: {', '.join(self.offline)}")
        if is_damaged and not may_be_new:
            raise StorageError(
                "it was damaged, and its directory is gone, but no other replica is known to have the "
                "records. Put the directory back or accept the loss: tidelog cluster elect-leaders --unclean "
                "lets another replica lead"
            )
        return self._least_loaded()

    def _least_loaded(self) -> LogDir:
        """Where records are refused for want of space, a new partition could not even begin."""
        usable = [log_dir for log_dir in self._log_dirs if log_dir.offline is None]
        if not usable:
            raise StorageError("every log dir of this broker has failed")
        return min(usable, key=lambda one: (one.reserve.is_refusing, len(one.partition_dirs)))

    def set_strays_aside(self, ours: set[tuple[Uuid, int]]) -> None:
        for log_dir in self._log_dirs:
            for key in [key for key in log_dir.partition_dirs if key not in ours]:
                log_dir.set_aside(log_dir.partition_dirs.pop(key).path)

    def mark_deleted(self, topic_id: Uuid, index: int, unique: Uuid) -> Callable[[], None] | None:
        """Rename a partition's directory, so that it is gone; the returned job frees the bytes."""
        found = self.forget(topic_id, index)
        if found is None:
            return None
        files, known = found
        deleted = files.mark_deleted(known, unique)
        return lambda: files.remove(deleted)

    def forget(self, topic_id: Uuid, index: int) -> tuple[LogDirFiles, PartitionDir] | None:
        """Removes the partition from the list; returns the directory to rename and delete, if any.

        What is left in a log dir that failed is set aside at the next start.
        """
        log_dir = self.log_dir_of(topic_id, index)
        known = log_dir.forget(topic_id, index) if log_dir is not None else None
        if log_dir is None or known is None or log_dir.offline is not None:
            return None
        return log_dir.files, known

    def swap(
        self, partition: Partition, copy: PartitionLog, log_dir: LogDir, now_ms: int
    ) -> Callable[[], None]:
        """Put the copy in the place of the partition's log; the returned job removes the old one.

        If that fails half-way the copy may be all that is left, so it is not removed: the next start decides.
        Until then the log is offline, since records appended to the old one could be lost.
        """
        old = partition.log
        old.leave_journal()  # its files may have to do without: what fails below leaves them in place
        try:
            log_dir.carry_loss(old, copy)
            remove_old = self.mark_deleted(partition.topic_id, partition.index, partition.topic_id)
            old.close(clean=False)
            partition.log = log_dir.adopt(copy.directory, partition, now_ms)
            self.put_in_service(partition.topic, partition.log)
        except (OSError, TidelogError) as error:
            old.health.offline = error if isinstance(error, OSError) else OSError(str(error))
            raise SwapFailed(str(error)) from error
        return remove_old or (lambda: None)

    def name_unknown_partitions(self, ours: set[TopicPartition]) -> bool:
        return any(log_dir.checkpoints.name_unknown_partitions(ours) for log_dir in self._log_dirs)

    def complete_moves(self, topics: Mapping[Uuid, str]) -> None:
        """At start: a copy whose original is gone is complete; any other is worthless.

        While a log dir is offline the two cannot be told apart, so copies stay as they are.
        """
        if self.offline:
            return
        for log_dir in self._log_dirs:
            for path in log_dir.futures():
                self._complete_move(log_dir, path, topics)

    def _complete_move(self, log_dir: LogDir, path: str, topics: Mapping[Uuid, str]) -> None:
        topic_id = log_dir.topic_id_of(path)
        index = int(path.rpartition(".")[0].rpartition("-")[2])
        if topic_id is None or topic_id not in topics or self.log_dir_of(topic_id, index) is not None:
            log_dir.discard(path)
        else:
            log_dir.promote(path, topics[topic_id], topic_id, index)

    def close(self) -> None:
        epoch = self.broker_epoch()
        for log_dir in self._log_dirs:
            log_dir.close(self.clean_epoch if epoch == NO_EPOCH else epoch)


def _remembered_cluster(disk: Disk, paths: Sequence[str]) -> tuple[str, str] | None:
    """The cluster, and the log dir that says so."""
    for path in paths:
        try:
            raw = read_file(disk, f"{path}/{META}")
        except OSError:
            continue
        if raw is not None and (found := LogDirIdentity.load(raw, f"{path}/{META}").cluster_id):
            return found, path
    return None
