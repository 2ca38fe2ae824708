"""Reading the log of a coordinator back into memory, chunk by chunk, in a thread."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from tidelog.base.errors import KafkaError, TidelogError
from tidelog.base.ids import Offset
from tidelog.base.ports import FileSlice
from tidelog.broker.log_dirs.flusher import RunInThread
from tidelog.replication.acks_waiters import Done
from tidelog.replication.partition import Partition
from tidelog.replication.read_limit import REPLICATED_END
from tidelog.wire.batch import BatchHeader, iter_batches
from tidelog.wire.record import Control, read_control

CHUNK_BYTES = 4 << 20

TakeBatch = Callable[[BatchHeader, memoryview], int]
"""Makes one batch true; answers how many records that were."""


async def until_safe(partition: Partition) -> None:
    """Until the high watermark is where the log ends now: then whoever leads next has it all, too."""
    await _until(partition, partition.when_committed)


async def until_held(partition: Partition) -> None:
    """Until all that are in sync have the log as it is now.

    That too few are in sync to take more is no reason not to serve what they all have.
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


def report_failure(log: logging.Logger, partition: Partition, what: str, error: Exception) -> None:
    """Where a disk has failed, the message says it all; anything else is our fault, shown with its place."""
    is_ours = not isinstance(error, (TidelogError, OSError))
    log.error("%r cannot be loaded, its %s are not served yet: %s", partition, what, error, exc_info=is_ours)


async def load_batches(partition: Partition, take: TakeBatch, run_in_thread: RunInThread) -> int:
    """Replay all that is safe; answers how many records that was.

    With too few in sync that is all they have: the high watermark stands still, maybe below what was safe.
    """
    count = 0
    offset = partition.log.start
    while offset < (end := partition.readable_end(REPLICATED_END)):
        found = partition.log.read(offset, CHUNK_BYTES, end=end)
        if found is None:
            break
        offset, replayed = await run_in_thread(partial(_replay, found.slice, offset, take))
        count += replayed
    return count


def _replay(chunk: FileSlice, start: Offset, take: TakeBatch) -> tuple[Offset, int]:
    data = memoryview(chunk.read())
    offset, count = start, 0
    for position, header in iter_batches(data):
        count += take(header, data[position : position + header.size])
        offset = header.next_offset
    return offset, count


def marker_in(batch: memoryview) -> Control | None:
    """What a control batch says of a transaction, if that is what it speaks of."""
    try:
        control = read_control(batch)
    except KafkaError:
        return None  # a kind of control batch that only a later version knows
    return control if control is not None and control.is_marker else None
