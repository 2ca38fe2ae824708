"""Reopens logs that a full disk, or too many open files, took offline, once there is space and a descriptor,
and creates those that could not be created.

Such a log is opened again, as after a crash: what was not known to be synced is read and checked, and a
partly written batch is truncated. Until then its records are served from the old log.
"""

import logging

from tidelog.base.errors import KafkaError, StorageError
from tidelog.base.ports import Clock, Disk
from tidelog.broker.log_dirs.flusher import RunInThread
from tidelog.broker.log_dirs.hosted import HostedPartitions
from tidelog.broker.log_dirs.log_dir import LogDir
from tidelog.broker.turns import in_turns
from tidelog.replication.partition import Durability, Partition
from tidelog.storage.log import PartitionLog

LOOK_SECONDS = 1.0
ROOM_BYTES = 1 << 20
"""A log that is reopened for a few bytes would be offline again with the next batch."""
PROBE = "room.probe"
PROBE_BYTES = 64 << 10

log = logging.getLogger("tidelog.broker.partitions")


class LogReopening:
    def __init__(
        self,
        disk: Disk,
        partitions: HostedPartitions,
        clock: Clock,
        run_in_thread: RunInThread,
    ) -> None:
        self._disk = disk
        self._partitions = partitions
        self._clock = clock
        self._run_in_thread = run_in_thread
        self._given_up: dict[Partition, PartitionLog] = {}
        """Free space alone does not help these."""

    async def run_once(self) -> None:
        short = [one async for piece in in_turns(self._partitions) for one in piece if one.log.is_short]
        self._given_up = {one: self._given_up[one] for one in short if self._given_up.get(one) is one.log}
        for partition in short:
            if partition in self._given_up:
                continue
            log_dir = self._log_dir_of(partition)
            if log_dir is not None and self._has_room(log_dir):
                async with self._partitions.steady():
                    # It waited: the directory may be that of another topic by now, or the log be another one.
                    if self._is_current(partition) and partition.log.is_short:
                        await self._reopen(partition)
        if self._partitions.without_space and any(map(self._has_room, self._partitions.log_dirs)):
            await self._partitions.open_those_without_space()

    def _is_current(self, partition: Partition) -> bool:
        return self._partitions.current(partition.topic_id, partition.index) is partition

    def _log_dir_of(self, partition: Partition) -> LogDir | None:
        log_dirs = self._partitions.log_dirs
        return next((one for one in log_dirs if one.holds(partition.log.directory)), None)

    @staticmethod
    def _has_room(log_dir: LogDir) -> bool:
        return log_dir.offline is None and log_dir.space()[1] >= ROOM_BYTES

    async def _reopen(self, partition: Partition) -> None:
        stopped = partition.log
        stopped.compaction.copies_under_way += 1  # retention leaves it alone
        try:
            opened: PartitionLog = await self._run_in_thread(lambda: self._open_anew(partition, stopped))
        except (OSError, StorageError, KafkaError) as error:
            log.debug("%s-%d cannot be reopened yet: %s", partition.topic, partition.index, error)
            return
        finally:
            stopped.compaction.copies_under_way -= 1
        if not self._is_current(partition) or partition.log is not stopped:
            opened.close(clean=False)  # deleted or moved meanwhile
            return
        # Followers may have more than was readable: under the same epoch it must not be written differently.
        may_be_ahead = partition.is_leader and len(partition.replicas) > 1
        needed = stopped.end if may_be_ahead else partition.high_watermark
        why = f"it ended at {needed}, and the disk kept it only up to {opened.end}"
        must_restart = opened.end < needed
        if stopped.recovery_point < stopped.synced_end and (
            opened.end < stopped.synced_end or opened.lost != stopped.lost
        ):
            # The journal has what the files lost, and only a start brings it back.
            why = f"its files lost a part of what was synced up to {stopped.synced_end}"
            must_restart = True
        if must_restart:
            opened.close(clean=False)
            log.error(
                "%s-%d stays offline: %s; restart the broker, so that other replicas, or the journal of the "
                "log dir, can help",
                *(partition.topic, partition.index, why),
            )
            self._given_up[partition] = stopped
            return
        self._put_in_place(partition, opened)

    def _open_anew(self, partition: Partition, stopped: PartitionLog) -> PartitionLog:
        """In a thread. The log is offline, so nothing writes to it meanwhile."""
        self._probe(stopped.directory)
        is_synced_first = partition.sync.durability is Durability.FSYNC
        opened = PartitionLog.open(
            self._disk,
            stopped.directory,
            stopped.config,
            now_ms=self._clock.now_ms(),
            recovery_point=stopped.recovery_point,
            log_start=stopped.start,
            committed=partition.high_watermark if is_synced_first else None,
            sync_failed=stopped.health.sync_failed,
        )
        opened.inherit(stopped)
        if stopped.health.sync_failed or is_synced_first:
            flush = opened.begin_flush()
            if flush is not None:
                flush.run()
                opened.finish_flush(flush)
        return opened

    def _probe(self, directory: str) -> None:
        """Quotas and reserved blocks show in no figure: only a write tells."""
        path = f"{directory}/{PROBE}"
        try:
            file = self._disk.open(path, create=True)
            try:
                file.write_at(0, [bytes(PROBE_BYTES)])
                file.sync()
            finally:
                file.close()
        finally:
            self._disk.remove(path)

    def _put_in_place(self, partition: Partition, opened: PartitionLog) -> None:
        """No await in here: no append may happen while the log is replaced."""
        stopped, partition.log = partition.log, opened
        self._partitions.log_dirs.put_in_service(partition.topic, opened)
        try:
            opened.leave_journal()  # the recovery may have changed the files
        except KafkaError:
            return  # full again, and logged there
        stopped.close(clean=False)
        for line in opened.recovery.lines():
            log.warning("%s-%d: %s", partition.topic, partition.index, line)
        if opened.lost is not None:
            # The repair would truncate what it appends as a leader behind the lost range.
            self._partitions.take_role_again(partition)
            return
        try:
            if partition.is_leader:
                opened.begin_epoch(partition.leader_epoch)
        except KafkaError:
            return  # full again, and logged there
        log.warning("%s-%d accepts records again", partition.topic, partition.index)
        self._partitions.checkpoint_now()
        partition.advance()
        partition.watchers.look_again()
