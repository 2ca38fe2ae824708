"""One log dir of a broker: its lock, its checkpoints, and the partition directories in it.

A log dir whose disk fails is offline; partitions in the others go on.
"""

import errno
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from tidelog.base.errors import StorageError
from tidelog.base.ids import NO_EPOCH, Epoch, Uuid, uuid_parse, uuid_text
from tidelog.base.ports import Disk
from tidelog.broker.log_dirs.checkpoints import LogDirCheckpoints, Offsets, write_high_watermarks
from tidelog.replication.partition import Partition
from tidelog.storage.journal import files as journal_files
from tidelog.storage.journal.journal import Journal
from tidelog.storage.journal.replay import replay
from tidelog.storage.journal.unfinished_replay import UnfinishedReplay
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.storage.log_dir.checkpoints import TopicPartition
from tidelog.storage.log_dir.files import META, LogDirFiles, LogDirIdentity, PartitionDir
from tidelog.storage.log_dir.partition_dir import read_topic_id, write_topic_id
from tidelog.storage.recovery import lost_range
from tidelog.storage.shortages import is_descriptor_shortage, is_shortage
from tidelog.storage.space_reserve import SpaceReserve

STRAY = "-stray"
FUTURE = "-future"
"""Ends the name of a partition directory that a log is being moved to."""

log = logging.getLogger("tidelog.broker.log_dirs")


@dataclass(frozen=True, slots=True)
class ReplicaInfo:
    """One partition's log in a log dir, as DescribeLogDirs shows it."""

    topic: str
    index: int
    size_bytes: int
    lag: int
    is_future: bool


class LogDir:
    """One log dir, the partition directories in it, and what its checkpoints say of their logs."""

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self.path = path
        self.offline: Exception | None = None
        self.reserve = SpaceReserve(path)
        self.hangs = False
        """A sync takes so long that no request should wait for this disk."""
        self.slow_syncs = 0
        self.descriptor_shortages = 0
        """Logs that could not be opened, each attempt counted."""
        self._closed_cleanly = False
        self._files: LogDirFiles | None = None
        self.checkpoints = LogDirCheckpoints()
        self.partition_dirs: dict[tuple[Uuid, int], PartitionDir] = {}
        self._without_topic_id: set[TopicPartition] = set()
        self._one_writer = threading.Lock()
        self._taken = self._written = self._marks_written = 0  # checkpoints, counted
        self._copies = 0
        self.journal: Journal | None = None
        """Where the newest batches of its logs are synced together; None where each log is synced alone."""
        self.journal_was_damaged = False
        """So its logs may lack what they had synced."""
        self._unfinished: UnfinishedReplay | None = None
        """What a start has not put back yet, from the journal of the life before."""
        self._one_finisher = threading.Lock()

    def open(self, identity: LogDirIdentity) -> None:
        """Lock it and read its checkpoints. Offline after an OSError; refused if it is another broker's."""
        try:
            self._files = LogDirFiles.open(self._disk, self.path, identity)
            self.checkpoints = LogDirCheckpoints.read(self._files)
            self._find_partitions()
            self._replay_journal()
        except OSError as error:
            log.error("log dir %s is offline: %s", self.path, error)
            self.offline = error

    def use_journal(self, bytes_max: int, logs_min: int, new_id: Callable[[], bytes]) -> None:
        """From now on; its files are made when `logs_min` logs need a sync at once."""
        if bytes_max and self.offline is None:
            self.journal = Journal(
                self._disk,
                self.path,
                bytes_max,
                new_id=new_id,
                on_begin=self.files.begin_journal,
                has_room=self._has_room,
                one_writer=threading.Lock(),
            )
            self.journal.logs_min = logs_min
            if self._unfinished:
                self.journal.failure = OSError(
                    "the last start could not put back all that was in the one before"
                )

    @property
    def can_restart_journal(self) -> bool:
        """It failed, or was needed beyond the start, and no file of a log lacks any more what is in it."""
        if self.journal is None or self.offline is not None or self._unfinished:
            return False
        return self.journal.failure is not None and self.journal.is_unneeded

    def end_failed_journal(self) -> Callable[[], None]:
        """Returns the job after which a start finds no journal; `Journal.begin_anew` must follow."""
        return partial(self._end_failed_journal, self.files)

    def _end_failed_journal(self, files: LogDirFiles) -> None:
        """Its voids must never be written again: they name sequences that the next journal uses, too.

        On a full disk its files stay until the note is written. They are open, so that removing them first
        would free nothing, and a crash would leave a note of files that are gone.
        """
        with self._one_finisher:
            files.end_journal()
            journal_files.remove(self._disk, self.path)
            self._unfinished = None

    def _has_room(self, size: int) -> bool:
        """The reserve of free space is not for the journal."""
        return not self.reserve.is_refusing and self.files.free_bytes()[1] - size > self.reserve.reserve_bytes

    def _replay_journal(self) -> None:
        """Complete the files of the logs with what only the journal has. Afterwards there is none."""
        files = self.files
        if files.identity.journal_id and not files.was_clean:
            ids = {known.path: topic_id for (topic_id, _), known in self.partition_dirs.items()}
            done = replay(self._disk, self.path, bytes.fromhex(files.identity.journal_id), ids.get)
            if done.bytes:
                log.warning(
                    "%s: the journal gave back %d bytes of %d logs that a crash took from their files",
                    *(self.path, done.bytes, done.logs),
                )
            for damage in done.damage:
                log.error(
                    "the journal of %s is damaged: %s. Acknowledged records may be missing where the log "
                    "lines below name lost offsets; replicas on other brokers may have them",
                    *(self.path, damage),
                )
            self.journal_was_damaged = bool(done.damage)
            if done.unfinished is not None:
                self._unfinished = done.unfinished
                for name, error in done.failed.items():
                    log.error(
                        "%s/%s cannot take back what only the journal has of it: %s. The journal stays until "
                        "it can, and logs here are synced one by one meanwhile",
                        *(self.path, name, error),
                    )
                return
            if done.damage:
                journal_files.set_aside(self._disk, self.path)
        self._forget_journal(files)

    def _forget_journal(self, files: LogDirFiles) -> None:
        """The files of the logs hold everything. A start that finds the note and no files says too much."""
        try:
            files.end_journal()
        except OSError as error:
            if not is_shortage(error) or is_descriptor_shortage(error):
                raise
            journal_files.remove(self._disk, self.path)  # on a full disk they make room for the note
            files.end_journal()
        journal_files.remove(self._disk, self.path)

    def fail(self, error: OSError) -> None:
        """Nothing is read or written here any more before the next start."""
        self.offline = error

    @property
    def files(self) -> LogDirFiles:
        if self._files is None or self.offline is not None:
            raise StorageError(f"log dir {self.path} is offline: {self.offline}")
        return self._files

    @property
    def id(self) -> Uuid:
        return uuid_parse(self.files.identity.directory_id)

    @property
    def known_id(self) -> Uuid | None:
        """Its id if it was ever read, also when the disk has failed since."""
        return None if self._files is None else uuid_parse(self._files.identity.directory_id)

    @property
    def was_clean(self) -> bool:
        return self.offline is not None or self.files.was_clean

    @property
    def clean_epoch(self) -> Epoch:
        return self.files.clean_epoch

    def _find_partitions(self) -> None:
        for partition_dir in self.files.partitions():
            if partition_dir.is_deleted:
                self.files.remove(partition_dir)  # a deletion that a crash interrupted
                continue
            topic_id = self.topic_id_of(partition_dir.path)
            if topic_id is not None:
                self.partition_dirs[topic_id, partition_dir.partition] = partition_dir
            else:
                self._without_topic_id.add((partition_dir.topic, partition_dir.partition))

    def has_partition(self, topic: str, topic_id: Uuid, index: int) -> bool:
        """By the id that the partition directory carries; by its name where the id cannot be read."""
        return (topic_id, index) in self.partition_dirs or (topic, index) in self._without_topic_id

    def open_log(
        self,
        topic: str,
        topic_id: Uuid,
        index: int,
        config: LogConfig,
        *,
        now_ms: int,
        is_new: bool = False,
        is_synced_first: bool = False,
    ) -> PartitionLog:
        """Open the log, or begin it. Touches only its own files, so threads may do it side by side.

        `is_new`: the topic was created just now, so a directory of its name belongs to another one.
        `is_synced_first`: nothing is committed before it is synced, so what was committed must be there.
        """
        by_id, by_name = (topic_id, index) in self.partition_dirs, (topic, index) in self._without_topic_id
        known = by_id or (by_name and not is_new)
        path = self.files.partition_path(topic, index)
        if known:
            self._finish_replay(path, topic_id if by_id else None)
        if not by_id:
            self._void_journal(path)
            if known:
                log.warning("%s is identified as %s-%d by its name; writing the topic id", path, topic, index)
            else:
                self._clear_way(path, topic_id, is_new)
            self._create(path, topic, topic_id, index, is_first=not known)
            self.partition_dirs[topic_id, index] = PartitionDir(path, topic, index, False)
            self._without_topic_id.discard((topic, index))
        key, checkpoints = (topic, index), self.checkpoints
        opened = PartitionLog.open(
            self._disk,
            path,
            config,
            now_ms=now_ms,
            recovery_point=checkpoints.recovery_points.get(key) if known else 0,
            clean=self.files.was_clean and known,
            log_start=checkpoints.log_starts.get(key) if known else None,
            committed=checkpoints.high_watermarks.get(key) if known and is_synced_first else None,
        )
        opened.compaction.cleaned_to = checkpoints.cleaned_to.get(key) if known else None
        return opened

    def _create(self, path: str, topic: str, topic_id: Uuid, index: int, *, is_first: bool) -> None:
        try:
            self.files.create_partition(topic, index, topic_id)
        except OSError:
            if is_first:  # else each attempt would set the directory of the one before aside
                with suppress(OSError):
                    self._disk.remove_tree(path)
            raise

    def check_descriptors(self, files_max: int) -> None:
        """OSError where a log would take one of the last descriptors: EMFILE, before anything is made."""
        file = self._disk.open(f"{self.path}/{META}")
        number = file.fileno()
        file.close()
        if number >= files_max:
            self.descriptor_shortages += 1
            raise OSError(
                errno.EMFILE,
                f"{number} files are open, and the rest of the limit is reserved; raise it (ulimit -n)",
                self.path,
            )

    def begin_copy(self, partition: Partition, now_ms: int) -> PartitionLog:
        """An empty log beside the others, for the copy of one that lives in another log dir."""
        # Numbered, since a thread may still be removing the copy of a move that was called off.
        self._copies += 1
        unique = f"{uuid_text(partition.topic_id)}-{self._copies}"
        path = f"{self.path}/{partition.topic[:200]}-{partition.index}.{unique}{FUTURE}"
        self._disk.make_dirs(path)
        write_topic_id(self._disk, path, partition.topic_id)
        return PartitionLog.open(self._disk, path, partition.log.config, now_ms=now_ms, recovery_point=0)

    def adopt(self, copy: str, partition: Partition, now_ms: int) -> PartitionLog:
        """The complete copy in the directory `copy` becomes the partition's log."""
        path = self.files.partition_path(partition.topic, partition.index)
        self._void_journal(path)  # the log may have been here before
        self._disk.rename(copy, path)
        self._disk.sync_dir(self.path)
        self.partition_dirs[partition.topic_id, partition.index] = PartitionDir(
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
        )
        opened.inherit(partition.log)
        return opened

    def carry_loss(self, log: PartitionLog, copy: PartitionLog) -> None:
        """Copy the record of a lost range: the copy of the log misses the same records."""
        if (lost := lost_range.read(self._disk, log.directory)) is not None:
            lost_range.write(self._disk, copy.directory, lost)

    def futures(self) -> list[str]:
        """Partition directories of moves that a stop interrupted."""
        return [f"{self.path}/{name}" for name in self._disk.names(self.path) if name.endswith(FUTURE)]

    def _clear_way(self, path: str, topic_id: Uuid, is_new: bool) -> None:
        """A directory of that name without our id: an older topic's, or one that a crash left half made."""
        if not self._disk.exists(path):
            return
        found = self.topic_id_of(path)
        if is_new or (found is not None and found != topic_id):
            self.set_aside(path)

    def set_aside(self, path: str) -> None:
        target = path + STRAY
        number = 1
        while self._disk.exists(target):
            number += 1
            target = f"{path}{STRAY}-{number}"
        log.warning("%s belongs to no topic of this cluster; renaming it to %s", path, target)
        self._disk.rename(path, target)
        self._disk.sync_dir(self.path)
        self._drop_unfinished(path.rpartition("/")[2])

    def topic_id_of(self, path: str) -> Uuid | None:
        """None if the directory holds no id: then its name identifies the partition."""
        try:
            return read_topic_id(self._disk, path)
        except StorageError as error:
            log.error("%s; identifying the partition by the name of the directory", error)
            return None

    def discard(self, path: str) -> None:
        self._disk.remove_tree(path)

    def promote(self, path: str, topic: str, topic_id: Uuid, index: int) -> None:
        target = self.files.partition_path(topic, index)
        self._disk.rename(path, target)
        self._disk.sync_dir(self.path)
        self.partition_dirs[topic_id, index] = PartitionDir(target, topic, index, False)

    def forget(self, topic_id: Uuid, index: int) -> PartitionDir | None:
        partition_dir = self.partition_dirs.pop((topic_id, index), None)
        if partition_dir is not None:
            self.checkpoints.forget((partition_dir.topic, partition_dir.partition))
            name = partition_dir.path.rpartition("/")[2]
            if self.journal is not None:
                self.journal.void(name)
            self._drop_unfinished(name)
        return partition_dir

    def _drop_unfinished(self, name: str) -> None:
        unfinished = self._unfinished  # a thread may end it meanwhile
        if unfinished is not None:
            unfinished.drop(name)

    def _finish_replay(self, path: str, topic_id: Uuid | None) -> None:
        """Raises OSError where the files of this log still fail: it must not be opened without its end."""
        if self._unfinished:
            with self._one_finisher:
                if self._unfinished is not None:
                    self._unfinished.finish(path.rpartition("/")[2], topic_id)

    def _void_journal(self, path: str) -> None:
        """Before another directory takes a name: the journal's entries for the one before must not reach
        it."""
        if self.journal is not None:
            self.journal.write_voids()
        if self._unfinished is not None:
            with self._one_finisher:
                if self._unfinished is not None:
                    self._unfinished.drop(path.rpartition("/")[2])
                    self._unfinished.write_voids()

    def holds(self, directory: str) -> bool:
        return directory.rpartition("/")[0] == self.path

    def space(self) -> tuple[int, int]:
        try:
            return self.files.free_bytes()
        except OSError:
            return -1, -1

    def checkpoint(self, partitions: Iterable[Partition]) -> Callable[[], None]:
        """Taken now; the returned job writes it and may run in a thread.

        Of logs that are not open, what was known of them before is still all that is known.
        """
        taken = LogDirCheckpoints.take(partitions)
        here = {(one.topic, one.partition) for one in tuple(self.partition_dirs.values())}
        taken.keep(self.checkpoints, here)
        self.checkpoints = taken
        self._taken += 1
        # A copy, since `forget` changes ours while a thread writes.
        return partial(self._write, taken.copy(), self._taken, self.files)

    def checkpoint_high_watermarks(self, partitions: Iterable[Partition]) -> Callable[[], None] | None:
        """As `checkpoint`, for high watermarks only; None if none changed."""
        marks = self.checkpoints.high_watermarks.copy()
        marks.update(((p.topic, p.index), p.committed_here) for p in partitions)
        if marks == self.checkpoints.high_watermarks:
            return None
        self.checkpoints.high_watermarks = marks
        self._taken += 1
        return partial(self._write_high_watermarks, marks.copy(), self._taken, self.files)

    def _write(self, taken: LogDirCheckpoints, number: int, files: LogDirFiles) -> None:
        """One at a time, and never an older checkpoint over a newer one: threads run in any order."""
        with self._one_writer:
            if number > self._written:
                taken.write(files)
                self._written = number
        self._write_high_watermarks(taken.high_watermarks, number, files)

    def _write_high_watermarks(self, marks: Offsets, number: int, files: LogDirFiles) -> None:
        with self._one_writer:
            if number > self._marks_written:
                write_high_watermarks(files, marks)
                self._marks_written = number

    def logs_are_closed(self, partitions: Sequence[Partition], *, in_order: bool) -> None:
        """Write the final checkpoint of these logs. The log dir is clean only if that succeeds.

        A log that was never opened, since that failed or the start was interrupted, may need to be checked.
        """
        opened = {(partition.topic_id, partition.index) for partition in partitions}
        in_order = in_order and opened.issuperset(self.partition_dirs) and not self._unfinished
        try:
            self.checkpoint(partitions)()
        except OSError as error:
            log.error("the checkpoints of %s cannot be written: %s", self.path, error)
            in_order = False
        self._closed_cleanly = in_order

    def _end_journal(self) -> None:
        if self.journal is not None:
            self.journal.close()
        if self._files is not None and self._closed_cleanly:
            try:
                self._forget_journal(self._files)
            except OSError:
                self._closed_cleanly = False
                raise

    def close(self, broker_epoch: Epoch = NO_EPOCH) -> None:
        """Release the log dir, marked as clean if every log in it was closed cleanly."""
        if self._files is not None:
            try:
                try:
                    self._end_journal()
                finally:
                    self._files.close(clean=self._closed_cleanly, broker_epoch=broker_epoch)
            except OSError as error:
                log.error("%s cannot be marked as cleanly closed: %s", self.path, error)
            self._files = None
