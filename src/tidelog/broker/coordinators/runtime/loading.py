"""Reads the log of a coordinator back into its shard, chunk by chunk, in a thread."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import TypeAlias, TypeVar

from tidelog.base.errors import KafkaError, TidelogError
from tidelog.base.ids import Offset
from tidelog.base.ports import FileSlice
from tidelog.broker.log_dirs.flusher import RunInThread
from tidelog.coordination.shard import Shard
from tidelog.replication.acks_waiters import Done
from tidelog.replication.partition import Partition
from tidelog.replication.read_limit import REPLICATED_END
from tidelog.wire.batch import BatchHeader, iter_batches
from tidelog.wire.record import read_records

CHUNK_BYTES = 4 << 20

ShardT = TypeVar("ShardT", bound=Shard)

ReplayBatch: TypeAlias = Callable[[ShardT, BatchHeader, memoryview], int]
"""Replays one batch into a shard; returns the number of records."""


def replay_records(shard: Shard, header: BatchHeader, batch: memoryview) -> int:
    """For a log without transactions."""
    if header.is_control:
        return 0
    count = 0
    for record in read_records(batch):
        if record.key is not None:
            shard.replay(record.key, record.value)
            count += 1
    return count


async def until_committed(partition: Partition) -> None:
    """Wait until the high watermark reaches the present end of the log: the next leader has it all, too."""
    await _until(partition, partition.when_committed)


async def until_replicated(partition: Partition) -> None:
    """Wait until every in-sync replica has the log as it is now.

    For a coordinator that serves reads also while too few replicas are in sync to commit more.
    """
    await _until(partition, partition.when_replicated)


async def _until(partition: Partition, when: Callable[[Offset, Done], bool]) -> None:
    reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def done(error: KafkaError | None) -> None:
        if reached.done():
            return
        if error is None:
            reached.set_result(None)
        else:
            reached.set_exception(error)

    if not when(partition.log.end, done):
        await reached


def report_failure(log: logging.Logger, partition: Partition, name: str, error: Exception) -> None:
    """Log why a load failed: a disk's error in one line, an error of our own with its traceback."""
    is_ours = not isinstance(error, (TidelogError, OSError))
    log.error("%r cannot be loaded, its %s are not served yet: %s", partition, name, error, exc_info=is_ours)


async def load_shard(
    partition: Partition, shard: ShardT, replay: ReplayBatch[ShardT], run_in_thread: RunInThread
) -> int:
    """Replay everything committed; returns the number of records. Nothing else may use the shard meanwhile.

    With too few replicas in sync, replay all that they have: the high watermark stands still then, and may be
    below what was committed.
    """
    count = 0
    offset = partition.log.start
    while offset < (end := partition.readable_end(REPLICATED_END)):
        chunk = partition.log.read(offset, CHUNK_BYTES, end=end)
        if chunk is None:
            break
        offset, replayed = await run_in_thread(partial(_replay, shard, replay, chunk.slice, offset))
        count += replayed
    return count


def _replay(
    shard: ShardT, replay: ReplayBatch[ShardT], chunk: FileSlice, start: Offset
) -> tuple[Offset, int]:
    data = memoryview(chunk.read())
    offset, count = start, 0
    for position, header in iter_batches(data):
        count += replay(shard, header, data[position : position + header.size])
        offset = header.next_offset
    return offset, count
