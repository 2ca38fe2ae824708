"""The data folders of a broker, and which partition lives in which of them.

A folder whose disk fails is offline; partitions in the others go on. Folders of partitions that the
metadata does not know are set aside, never deleted: the metadata may be what was lost.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidelog.base.errors import StorageError
from tidelog.base.ids import NodeId, Offset, Uuid, uuid_from_random, uuid_parse, uuid_text
from tidelog.base.ports import Disk, Random, read_file
from tidelog.replication.partition import Partition
from tidelog.storage.checkpoints import TopicPartition
from tidelog.storage.data_dir import (
    CLEANER_OFFSETS,
    LOG_STARTS,
    META,
    RECOVERY_POINTS,
    DataDir,
    DirectoryIdentity,
    PartitionFolder,
)
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.storage.partition_folder import read_topic_id, write_topic_id
from tidelog.storage.warm_segments import WarmSegments

STRAY = "-stray"
FUTURE = "-future"
"""Ends the name of a folder that a log is being moved to."""

log = logging.getLogger("tidelog.broker.folders")


@dataclass(frozen=True, slots=True)
class ReplicaHere:
    """One partition's log in a folder, as DescribeLogDirs shows it."""

    topic: str
    index: int
    size_bytes: int
    lag: int
    is_future: bool


class DataFolder:
    """One data folder with what is known of the logs in it."""

    def __init__(self, disk: Disk, path: str, warm: WarmSegments) -> None:
        self._disk = disk
        self._warm = warm
        self.path = path
        self.offline: Exception | None = None
        self._closed_in_order = False
        self._dir: DataDir | None = None
        self._recovery_points: dict[TopicPartition, Offset] = {}
        self._log_starts: dict[TopicPartition, Offset] = {}
        self._cleaned_to: dict[TopicPartition, Offset] = {}
        self.homes: dict[tuple[Uuid, int], PartitionFolder] = {}

    def open(self, identity: DirectoryIdentity) -> None:
        """Lock it and read its checkpoints; OSError leaves it offline, another broker's folder is refused."""
        try:
            self._dir = DataDir.open(self._disk, self.path, identity)
            self._recovery_points = self._read_checkpoint(RECOVERY_POINTS, "every log is checked")
            self._log_starts = self._read_checkpoint(LOG_STARTS, "deleted records may show again")
            self._cleaned_to = self._read_checkpoint(CLEANER_OFFSETS, "compaction begins anew")
            self._find_partitions()
        except OSError as error:
            log.error("data folder %s is offline: %s", self.path, error)
            self.offline = error

    def _read_checkpoint(self, name: str, otherwise: str) -> dict[TopicPartition, Offset]:
        """A checkpoint saves work; one that cannot be understood must not keep the broker from its data."""
        try:
            return self.dir.read_checkpoint(name)
        except StorageError as error:
            log.error("%s; without it, %s", error, otherwise)
            return {}

    @property
    def dir(self) -> DataDir:
        if self._dir is None or self.offline is not None:
            raise StorageError(f"data folder {self.path} is offline: {self.offline}")
        return self._dir

    @property
    def id(self) -> Uuid:
        return uuid_parse(self.dir.identity.directory_id)

    @property
    def was_clean(self) -> bool:
        return self.offline is not None or self.dir.was_clean

    def _find_partitions(self) -> None:
        for folder in self.dir.partitions():
            if folder.is_doomed:
                self.dir.remove(folder)  # a deletion that a crash interrupted
                continue
            topic_id = self.topic_id_of(folder.path)
            if topic_id is not None:
                self.homes[topic_id, folder.partition] = folder

    def open_log(
        self, topic: str, topic_id: Uuid, index: int, config: LogConfig, *, now_ms: int
    ) -> PartitionLog:
        """Open the log, or begin it. Touches only its own files, so threads may do it side by side."""
        known = (topic_id, index) in self.homes
        path = self.dir.partition_path(topic, index)
        if not known:
            self._clear_way(path, topic_id)
            self.dir.create_partition(topic, index, topic_id)
            self.homes[topic_id, index] = PartitionFolder(path, topic, index, False)
        opened = PartitionLog.open(
            self._disk,
            path,
            config,
            now_ms=now_ms,
            recovery_point=self._recovery_points.get((topic, index)) if known else 0,
            clean=self.dir.was_clean and known,
            log_start=self._log_starts.get((topic, index)) if known else None,
            warm=self._warm,
        )
        opened.cleaned_to = self._cleaned_to.get((topic, index)) if known else None
        return opened

    def begin_copy(self, partition: Partition, now_ms: int) -> PartitionLog:
        """An empty log beside the others, for the copy of one that lives in another folder."""
        unique = uuid_text(partition.topic_id)
        path = f"{self.path}/{partition.topic[:200]}-{partition.index}.{unique}{FUTURE}"
        self._disk.remove_tree(path)
        self._disk.make_dirs(path)
        write_topic_id(self._disk, path, partition.topic_id)
        return PartitionLog.open(
            self._disk, path, partition.log.config, now_ms=now_ms, recovery_point=0, warm=self._warm
        )

    def adopt(self, copy: str, partition: Partition, now_ms: int) -> PartitionLog:
        """The complete copy in folder `copy` becomes the partition's log."""
        path = self.dir.partition_path(partition.topic, partition.index)
        self._disk.rename(copy, path)
        self._disk.sync_dir(self.path)
        self.homes[partition.topic_id, partition.index] = PartitionFolder(
            path, partition.topic, partition.index, False
        )
        opened = PartitionLog.open(
            self._disk,
            path,
            partition.log.config,
            now_ms=now_ms,
            recovery_point=partition.log.end,
            clean=True,
            log_start=partition.log.start,
            warm=self._warm,
        )
        opened.cleaned_to = partition.log.cleaned_to
        return opened

    def futures(self) -> list[str]:
        """Folders of moves that a stop interrupted."""
        return [f"{self.path}/{name}" for name in self._disk.names(self.path) if name.endswith(FUTURE)]

    def _clear_way(self, path: str, topic_id: Uuid) -> None:
        """A folder of that name without our id: an older topic's, or one that a crash left half made."""
        if not self._disk.exists(path):
            return
        found = self.topic_id_of(path)
        if found is not None and found != topic_id:
            self.set_aside(path)

    def set_aside(self, path: str) -> None:
        target = path + STRAY
        number = 1
        while self._disk.exists(target):
            number += 1
            target = f"{path}{STRAY}-{number}"
        log.warning("%s belongs to no topic of this cluster; it is kept as %s", path, target)
        self._disk.rename(path, target)
        self._disk.sync_dir(self.path)

    def remembers_strangers(self, ours: set[TopicPartition]) -> bool:
        """Whether a checkpoint speaks of a partition that is gone, and could mislead one of the same name."""
        return any(
            key not in ours
            for offsets in (self._recovery_points, self._log_starts, self._cleaned_to)
            for key in offsets
        )

    def topic_id_of(self, path: str) -> Uuid | None:
        """None where the folder does not say: then its name tells which partition it is."""
        try:
            return read_topic_id(self._disk, path)
        except StorageError as error:
            log.error("%s; it is taken by its name", error)
            return None

    def discard(self, path: str) -> None:
        self._disk.remove_tree(path)

    def promote(self, path: str, topic: str, topic_id: Uuid, index: int) -> None:
        target = self.dir.partition_path(topic, index)
        self._disk.rename(path, target)
        self._disk.sync_dir(self.path)
        self.homes[topic_id, index] = PartitionFolder(target, topic, index, False)

    def forget(self, topic_id: Uuid, index: int) -> PartitionFolder | None:
        folder = self.homes.pop((topic_id, index), None)
        if folder is not None:
            for offsets in (self._recovery_points, self._log_starts, self._cleaned_to):
                offsets.pop((folder.topic, folder.partition), None)
        return folder

    def holds(self, directory: str) -> bool:
        return directory.rpartition("/")[0] == self.path

    def space(self) -> tuple[int, int]:
        try:
            return self.dir.free_bytes()
        except OSError:
            return -1, -1

    # Checkpoints

    def checkpoint(self, partitions: Iterable[Partition]) -> Callable[[], None]:
        """Taken now; the returned job writes it and may run in a thread."""
        points: dict[TopicPartition, Offset] = {}
        starts: dict[TopicPartition, Offset] = {}
        cleaned: dict[TopicPartition, Offset] = {}
        for partition in partitions:
            key = (partition.topic, partition.index)
            points[key] = partition.log.recovery_point
            if partition.log.start > 0:
                starts[key] = partition.log.start
            if partition.log.cleaned_to is not None:
                cleaned[key] = partition.log.cleaned_to
        self._recovery_points, self._log_starts, self._cleaned_to = points, starts, cleaned
        directory = self.dir

        def write() -> None:
            directory.write_checkpoint(RECOVERY_POINTS, points)
            directory.write_checkpoint(LOG_STARTS, starts)
            directory.write_checkpoint(CLEANER_OFFSETS, cleaned)

        return write

    def close_logs(self, partitions: Sequence[Partition]) -> None:
        """Close every log in order. One that cannot be closed so costs the next start a scan."""
        clean = True
        for partition in partitions:
            try:
                partition.log.close(clean=True)
            except Exception as error:
                log.error("%s-%d was not closed in order: %s", partition.topic, partition.index, error)
                clean = False
            clean = clean and partition.log.offline is None
        try:
            self.checkpoint(partitions)()
        except OSError as error:
            log.error("the checkpoints of %s cannot be written: %s", self.path, error)
            clean = False
        self._closed_in_order = clean

    def close(self) -> None:
        """Let go of the folder, marked as clean if every log in it was closed in order."""
        if self._dir is not None:
            try:
                self._dir.close(clean=self._closed_in_order)
            except OSError as error:
                log.error("%s cannot be marked as closed in order: %s", self.path, error)
            self._dir = None


class DataFolders:
    def __init__(self, folders: Sequence[DataFolder]) -> None:
        self._folders = list(folders)

    @classmethod
    def open(
        cls, disk: Disk, paths: Sequence[str], *, cluster_id: str | None, node_id: NodeId, random: Random
    ) -> "DataFolders":
        """The cluster's id is the configured one, or the one that a folder remembers, or a new one."""
        cluster_id = (
            cluster_id or _remembered_cluster(disk, paths) or uuid_text(uuid_from_random(random.bytes(16)))
        )
        warm = WarmSegments()
        folders = [DataFolder(disk, path, warm) for path in paths]
        try:
            for folder in folders:
                fresh = uuid_text(uuid_from_random(random.bytes(16)))
                folder.open(DirectoryIdentity(cluster_id, node_id, fresh))
        except BaseException:
            for folder in folders:
                folder.close()
            raise
        opened = cls(folders)
        if opened.first.offline is not None:
            opened.close()
            raise StorageError(
                f"data folder {opened.first.path} holds the cluster's metadata and cannot be used: "
                f"{opened.first.offline}"
            )
        return opened

    def __iter__(self) -> Iterator[DataFolder]:
        return iter(self._folders)

    def __len__(self) -> int:
        return len(self._folders)

    @property
    def first(self) -> DataFolder:
        return self._folders[0]

    @property
    def cluster_id(self) -> str:
        return self.first.dir.identity.cluster_id

    @property
    def ids(self) -> list[Uuid]:
        return [folder.id for folder in self._folders if folder.offline is None]

    @property
    def all_clean(self) -> bool:
        return all(folder.was_clean for folder in self._folders)

    def home_of(self, topic_id: Uuid, index: int) -> DataFolder | None:
        for folder in self._folders:
            if (topic_id, index) in folder.homes:
                return folder
        return None

    def least_loaded(self) -> DataFolder:
        usable = [folder for folder in self._folders if folder.offline is None]
        return min(usable, key=lambda folder: len(folder.homes))

    def set_strays_aside(self, ours: set[tuple[Uuid, int]]) -> None:
        for folder in self._folders:
            for key in [key for key in folder.homes if key not in ours]:
                folder.set_aside(folder.homes.pop(key).path)

    def doom(self, topic_id: Uuid, index: int, unique: Uuid) -> Callable[[], None] | None:
        """Rename a partition's folder, so that it is gone; the returned job frees its bytes, in a thread."""
        folder = self.home_of(topic_id, index)
        known = folder.forget(topic_id, index) if folder is not None else None
        if folder is None or known is None:
            return None
        directory = folder.dir
        doomed = directory.doom_partition(known, unique)
        return lambda: directory.remove(doomed)

    def swap(
        self, partition: Partition, copy: PartitionLog, folder: DataFolder, now_ms: int
    ) -> Callable[[], None]:
        """Put the copy in the place of the partition's log; the returned job removes the old one."""
        remove_old = self.doom(partition.topic_id, partition.index, partition.topic_id)
        partition.log.close(clean=False)
        partition.log = folder.adopt(copy.directory, partition, now_ms)
        return remove_old or (lambda: None)

    def remembers_strangers(self, ours: set[TopicPartition]) -> bool:
        return any(folder.remembers_strangers(ours) for folder in self._folders)

    def settle_moves(self, topics: Mapping[Uuid, str]) -> None:
        """At start: a copy whose original is gone is complete; any other is worthless."""
        for folder in self._folders:
            if folder.offline is None:
                for path in folder.futures():
                    self._settle_move(folder, path, topics)

    def _settle_move(self, folder: DataFolder, path: str, topics: Mapping[Uuid, str]) -> None:
        topic_id = folder.topic_id_of(path)
        index = int(path.rpartition(".")[0].rpartition("-")[2])
        if topic_id is None or topic_id not in topics or self.home_of(topic_id, index) is not None:
            folder.discard(path)
        else:
            folder.promote(path, topics[topic_id], topic_id, index)

    def close(self) -> None:
        for folder in self._folders:
            folder.close()


def _remembered_cluster(disk: Disk, paths: Sequence[str]) -> str | None:
    for path in paths:
        try:
            raw = read_file(disk, f"{path}/{META}")
        except OSError:
            continue
        if raw is not None:
            return DirectoryIdentity.load(raw, f"{path}/{META}").cluster_id
    return None
