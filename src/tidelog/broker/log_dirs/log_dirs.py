"""The data folders of a broker, and which partition lives in which of them.

Folders of partitions that the metadata does not know are set aside, never deleted: the metadata may be
what was lost.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from tidelog.base.errors import StorageError, TidelogError
from tidelog.base.ids import NO_EPOCH, Epoch, NodeId, Offset, Uuid, uuid_from_random, uuid_text
from tidelog.base.ports import Disk, Random, read_file
from tidelog.broker.log_dirs.log_dir import DataFolder
from tidelog.replication.partition import Partition
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_dir.checkpoints import TopicPartition
from tidelog.storage.log_dir.log_dir import META, DataDir, DirectoryIdentity, PartitionFolder
from tidelog.storage.segment.warm import WarmSegments


class SwapFailed(TidelogError):
    """A copy could not be put in the place of a log, and neither may be touched before the next start."""


class DataFolders:
    def __init__(self, folders: Sequence[DataFolder], warm: WarmSegments) -> None:
        self._folders = list(folders)
        self.warm = warm
        """What the logs that are served share; those that a thread works on are not among them."""
        self.broker_epoch: Callable[[], Epoch] = lambda: NO_EPOCH
        """Of this process, once it is registered: what a clean end is marked with."""
        epochs = {folder.clean_epoch for folder in folders if folder.offline is None}
        self.clean_epoch: Epoch = epochs.pop() if len(epochs) == 1 else NO_EPOCH
        """Of the process that used the folders last, if it ended in order; -1 if it did not."""

    @classmethod
    def open(
        cls, disk: Disk, paths: Sequence[str], *, cluster_id: str | None, node_id: NodeId, random: Random
    ) -> "DataFolders":
        """Folders remember their cluster, which must be the configured one.

        New ones have none before the broker has joined its cluster: see `settle_cluster`.
        """
        remembered = _remembered_cluster(disk, paths)
        if cluster_id and remembered and remembered[0] != cluster_id:
            raise StorageError(
                f"{remembered[1]} belongs to cluster {remembered[0]}, and cluster.id is {cluster_id}; give "
                "this broker the folder of its own cluster, or an empty one"
            )
        cluster_id = remembered[0] if remembered else ""
        warm = WarmSegments()
        folders = [DataFolder(disk, path) for path in paths]
        try:
            for folder in folders:
                fresh = uuid_text(uuid_from_random(random.bytes(16)))
                folder.open(DirectoryIdentity(cluster_id, node_id, fresh))
        except BaseException:
            for folder in folders:
                folder.close()
            raise
        opened = cls(folders, warm)
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
        """Empty for a broker that has never been part of one."""
        return self.first.dir.identity.cluster_id

    def settle_cluster(self, cluster_id: str) -> None:
        """The folders and the metadata must speak of one cluster, from now on and for ever."""
        for folder in self._folders:
            if folder.offline is None:
                folder.dir.settle_cluster(cluster_id)

    def high_watermark(self, topic: str, topic_id: Uuid, index: int) -> Offset | None:
        """Up to where the log was known to be committed when that was last written down."""
        for folder in self._folders:
            if (topic_id, index) in folder.homes:
                return folder.checkpoints.high_watermarks.get((topic, index))
        return None

    @property
    def ids(self) -> list[Uuid]:
        return [folder.id for folder in self._folders if folder.offline is None]

    @property
    def offline_ids(self) -> list[Uuid]:
        """Folders that were in use and whose disk failed since."""
        return [folder.known_id for folder in self._folders if folder.offline is not None and folder.known_id]

    @property
    def all_clean(self) -> bool:
        return all(folder.was_clean for folder in self._folders)

    def home_of(self, topic_id: Uuid, index: int) -> DataFolder | None:
        return next((folder for folder in self._folders if (topic_id, index) in folder.homes), None)

    @property
    def offline(self) -> list[str]:
        """Folders whose content nobody can know now."""
        return [folder.path for folder in self._folders if folder.offline is not None]

    def home_for(
        self, topic: str, topic_id: Uuid, index: int, *, may_be_new: bool, is_damaged: bool = False
    ) -> DataFolder:
        """Where the partition lives, or where a new one should.

        One that is not new and not found may be in a folder that is offline. Begun anew elsewhere it would be
        empty, and there would be two of it once that folder is back: StorageError. So for one that is damaged
        while the cluster counts on it: empty, it would pass for one that has been repaired, and lead.
        """
        for folder in self._folders:
            if folder.offline is None and folder.is_home_of(topic, topic_id, index):
                return folder
        if not may_be_new and self.offline:
            raise StorageError(f"it may be in a data folder that is offline: {', '.join(self.offline)}")
        if is_damaged and not may_be_new:
            raise StorageError(
                "it was damaged, and its folder is gone, but no other replica is known to have its records; "
                "put the folder back, or accept the loss: tidelog cluster elect-leaders --unclean lets "
                "another replica lead"
            )
        return self._least_loaded()

    def _least_loaded(self) -> DataFolder:
        usable = [folder for folder in self._folders if folder.offline is None]
        return min(usable, key=lambda folder: len(folder.homes))

    def set_strays_aside(self, ours: set[tuple[Uuid, int]]) -> None:
        for folder in self._folders:
            for key in [key for key in folder.homes if key not in ours]:
                folder.set_aside(folder.homes.pop(key).path)

    def doom(self, topic_id: Uuid, index: int, unique: Uuid) -> Callable[[], None] | None:
        """Rename a partition's folder, so that it is gone; the returned job frees its bytes, in a thread."""
        found = self.forget(topic_id, index)
        if found is None:
            return None
        directory, known = found
        doomed = directory.doom_partition(known, unique)
        return lambda: directory.remove(doomed)

    def forget(self, topic_id: Uuid, index: int) -> tuple[DataDir, PartitionFolder] | None:
        """The partition lives here no longer; what is to be renamed and removed, if anything."""
        folder = self.home_of(topic_id, index)
        known = folder.forget(topic_id, index) if folder is not None else None
        return None if folder is None or known is None else (folder.dir, known)

    def swap(
        self, partition: Partition, copy: PartitionLog, folder: DataFolder, now_ms: int
    ) -> Callable[[], None]:
        """Put the copy in the place of the partition's log; the returned job removes the old one.

        Where that fails half-way the copy may be all there is, so nobody may remove it: the next start finds
        out. Until then the log is offline, since what was appended to the old one could be lost.
        """
        old = partition.log
        try:
            folder.carry_loss(old, copy)
            remove_old = self.doom(partition.topic_id, partition.index, partition.topic_id)
            old.close(clean=False)
            partition.log = folder.adopt(copy.directory, partition, now_ms)
            partition.log.share(self.warm)
        except (OSError, TidelogError) as error:
            old.offline = error if isinstance(error, OSError) else OSError(str(error))
            raise SwapFailed(str(error)) from error
        return remove_old or (lambda: None)

    def remember_strangers(self, ours: set[TopicPartition]) -> bool:
        return any(folder.checkpoints.remember_strangers(ours) for folder in self._folders)

    def settle_moves(self, topics: Mapping[Uuid, str]) -> None:
        """At start: a copy whose original is gone is complete; any other is worthless.

        While a folder is offline nobody can tell the one from the other, so they stay as they are.
        """
        if self.offline:
            return
        for folder in self._folders:
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
        epoch = self.broker_epoch()
        for folder in self._folders:
            folder.close(self.clean_epoch if epoch == NO_EPOCH else epoch)


def _remembered_cluster(disk: Disk, paths: Sequence[str]) -> tuple[str, str] | None:
    """The cluster, and the folder that says so."""
    for path in paths:
        try:
            raw = read_file(disk, f"{path}/{META}")
        except OSError:
            continue
        if raw is not None and (found := DirectoryIdentity.load(raw, f"{path}/{META}").cluster_id):
            return found, path
    return None
