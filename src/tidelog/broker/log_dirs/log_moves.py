"""Moving a partition's log to another log dir of this broker, while it is written to and read.

The copy grows in a directory ending in `-future`. When it has caught up, the rest is copied and the
directories are swapped in one turn of the loop, with the old one renamed first: a start that finds a
`-future` directory without the partition's own one knows that the copy is complete, and takes it.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from tidelog.base.errors import ErrorCode, KafkaError, TidelogError
from tidelog.base.ids import Uuid
from tidelog.base.ports import Clock, Disk
from tidelog.broker.log_dirs.flusher import RunInThread
from tidelog.broker.log_dirs.hosted import HostedPartitions
from tidelog.broker.log_dirs.log_dir import LogDir, ReplicaInfo
from tidelog.broker.log_dirs.log_dirs import SwapFailed
from tidelog.broker.quota import UNLIMITED, ByteRate
from tidelog.replication import refusals
from tidelog.replication.partition import Partition
from tidelog.storage.log import PartitionLog
from tidelog.storage.segment.segment import LogRead
from tidelog.wire.batch import iter_batches

CHUNK_BYTES = 16 << 20
CHUNK_BYTES_MIN = 64 << 10
"""Under a limit of less than this a second, a chunk takes longer than one."""
PACE_SECONDS = 0.1
FINAL_BYTES = 2 << 20
"""The last part, which is copied in one turn of the loop."""

log = logging.getLogger("tidelog.broker.moves")


class Move(NamedTuple):
    partition: Partition
    copy: PartitionLog
    log_dir: LogDir
    task: "asyncio.Task[None]"


class LogMoves:
    def __init__(
        self,
        disk: Disk,
        partitions: HostedPartitions,
        clock: Clock,
        run_in_thread: RunInThread,
        *,
        rate: Callable[[], int] = lambda: UNLIMITED,
    ) -> None:
        """`rate`: bytes a second that all moves together may copy."""
        self._disk = disk
        self._partitions = partitions
        self._clock = clock
        self._run_in_thread = run_in_thread
        self._moves: dict[tuple[Uuid, int], Move] = {}
        self._rate = rate
        self._quota = ByteRate(rate, clock.monotonic)

    def begin(self, topic: str, index: int, path: str) -> None:
        """Start a move, or redirect one that is in progress. KafkaError says why that is impossible."""
        log_dir = next((f for f in self._partitions.log_dirs if f.path == path.rstrip("/")), None)
        if log_dir is None:
            raise KafkaError(ErrorCode.LOG_DIR_NOT_FOUND, f"{path} is not one of this broker's log.dirs")
        if log_dir.offline is not None:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{path} is offline: {log_dir.offline}")
        partition = self._partitions.find_any(topic, index)
        if log_dir.reserve.is_refusing:
            raise log_dir.reserve.refusal(path)
        key = (partition.topic_id, index)
        running = self._moves.get(key)
        if running is not None:
            if running.log_dir is log_dir:
                return
            running.task.cancel()
            del self._moves[key]
        if log_dir.holds(partition.log.directory):
            return
        try:
            copy = log_dir.begin_copy(partition, self._clock.now_ms())
        except OSError as error:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{path}: {error}") from error
        task = asyncio.get_running_loop().create_task(
            self._run(partition, copy, log_dir), name=f"move {topic}-{index} to {path}"
        )
        self._moves[key] = Move(partition, copy, log_dir, task)
        source = partition.log
        source.compaction.copies_under_way += 1

        def ended(_: "asyncio.Task[None]") -> None:
            source.compaction.copies_under_way -= 1

        task.add_done_callback(ended)

    def replicas_in(self, log_dir: LogDir) -> Iterator[ReplicaInfo]:
        for partition in self._partitions:
            if log_dir.holds(partition.log.directory):
                yield ReplicaInfo(partition.topic, partition.index, partition.log.size_bytes, 0, False)
        for move in self._moves.values():
            if move.log_dir is log_dir:
                partition, copy = move.partition, move.copy
                lag = max(0, partition.log.end - copy.end)
                yield ReplicaInfo(partition.topic, partition.index, copy.size_bytes, lag, True)

    async def close(self) -> None:
        """An incomplete move starts over when it is requested again."""
        tasks = [move.task for move in self._moves.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, partition: Partition, copy: PartitionLog, log_dir: LogDir) -> None:
        key = (partition.topic_id, partition.index)
        try:
            await self._catch_up(partition, copy, log_dir)
            self._finish(partition, copy, log_dir)
            log.info("%s-%d moved to %s", partition.topic, partition.index, log_dir.path)
        except SwapFailed as error:
            log.error(
                "%s-%d could not be put in place in %s and is offline; restart the broker: %s",
                *key_text(partition),
                log_dir.path,
                error,
            )
            partition.release_all(refusals.offline(partition))
        except (OSError, TidelogError) as error:
            log.error("%s-%d could not be moved to %s: %s", *key_text(partition), log_dir.path, error)
            self._abandon(copy)
        except asyncio.CancelledError:
            self._abandon(copy)
            raise
        finally:
            move = self._moves.get(key)
            if move is not None and move.copy is copy:
                del self._moves[key]

    async def _catch_up(self, partition: Partition, copy: PartitionLog, log_dir: LogDir) -> None:
        """Copy until little enough is left, and is unsynced, to do the rest at once.

        While the copy is synced its source grows on. What counts as little doubles each time, so that a
        partition that is written to without a pause is caught up with as well. A follower's log may be
        truncated meanwhile, and then continue with other records: the copy starts over.
        """
        source, little = partition.log, FINAL_BYTES
        truncations = source.truncations
        while _bytes_behind(source, copy) > little:
            if self._quota.is_exceeded() or log_dir.reserve.is_refusing:
                await asyncio.sleep(PACE_SECONDS)
                continue
            chunk = _next_chunk(source, copy, min(CHUNK_BYTES, max(self._rate(), CHUNK_BYTES_MIN)))
            self._quota.record(len(chunk.slice))
            await self._run_in_thread(partial(_append, chunk, copy, self._clock.now_ms()))
            if source.truncations == truncations and _bytes_behind(source, copy) <= little:
                flush = copy.begin_flush()
                if flush is not None:
                    await self._run_in_thread(flush.run)
                    copy.finish_flush(flush)
                little *= 2
            if source.truncations != truncations:
                truncations = source.truncations
                for deletion in copy.truncate_fully_at(source.start):
                    self._in_background(deletion.run)

    def _finish(self, partition: Partition, copy: PartitionLog, log_dir: LogDir) -> None:
        """No await in here: no append may happen between the last chunk and the swap."""
        if self._partitions.current(partition.topic_id, partition.index) is not partition:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "the topic was deleted meanwhile")
        old = partition.log
        if old.start == old.end and copy.end < old.end:
            copy.truncate_fully_at(old.end)  # there is nothing left to copy but where it ended
        while copy.end < old.end:
            _append(_next_chunk(old, copy), copy, self._clock.now_ms())
        if old.start > copy.start:
            copy.delete_before(old.start)
        copy.close(clean=True)
        remove_old = self._partitions.log_dirs.swap(partition, copy, log_dir, self._clock.now_ms())
        if partition.is_leader:
            # The copy knows the epochs of its records, and the current epoch may have written none yet.
            partition.log.begin_epoch(partition.leader_epoch)
        self._partitions.checkpoint_now()  # the new log dir must know where the log starts
        partition.advance()
        self._in_background(remove_old)

    def _abandon(self, copy: PartitionLog) -> None:
        copy.close(clean=False)
        self._in_background(partial(self._disk.remove_tree, copy.directory))

    def _in_background(self, removal: Callable[[], None]) -> None:
        """What is left is removed at the next start."""

        def report(future: "asyncio.Future[None]") -> None:
            if not future.cancelled() and (error := future.exception()) is not None:
                log.warning("files that a move left behind could not be removed yet: %s", error)

        try:
            self._run_in_thread(removal).add_done_callback(report)
        except TidelogError as error:  # too many jobs wait for the disk
            log.warning("files that a move left behind could not be removed yet: %s", error)


def key_text(partition: Partition) -> tuple[str, int]:
    return partition.topic, partition.index


def _bytes_behind(source: PartitionLog, copy: PartitionLog) -> int:
    is_behind = max(copy.end, source.start) < source.end
    return source.size_bytes - copy.size_bytes if is_behind else 0


def _next_chunk(source: PartitionLog, copy: PartitionLog, size: int = CHUNK_BYTES) -> LogRead:
    """Where the next whole batches lie. What retention removed meanwhile is skipped."""
    offset = max(copy.end, source.start)
    found = source.read(offset, size, end=source.end)
    if found is None:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"nothing to copy at offset {offset}")
    return found


def _append(chunk: LogRead, copy: PartitionLog, now_ms: int) -> None:
    """In a thread, or on the loop for the last part: nothing else touches the copy."""
    if copy.end != chunk.first_batch_offset and copy.size_bytes == 0:
        copy.truncate_fully_at(chunk.first_batch_offset)
    records = memoryview(bytearray(chunk.slice.read()))
    copy.append_as_follower(records, list(iter_batches(records)), now_ms=now_ms)
