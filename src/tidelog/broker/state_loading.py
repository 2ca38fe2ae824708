"""Reading the log of a coordinator back into memory, chunk by chunk, in a thread."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from tidelog.base.errors import ErrorCode, KafkaError, TidelogError
from tidelog.base.ids import Offset
from tidelog.base.ports import FileSlice
from tidelog.broker.flusher import RunInThread
from tidelog.replication.partition import Partition
from tidelog.wire.batch import BatchHeader, iter_batches
from tidelog.wire.record import Control, read_control

CHUNK_BYTES = 4 << 20

TakeBatch = Callable[[BatchHeader, memoryview], int]
"""Makes one batch true; answers how many records that were."""


async def until_safe(partition: Partition) -> None:
    """Until the high watermark is where the log ends now.

    That too few replicas are in sync to take more is no reason not to serve what they all have.
    """
    safe: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def done(error: KafkaError | None) -> None:
        if safe.done():
            return
        if error is None or error.code is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND:
            safe.set_result(None)
        else:
            safe.set_exception(error)

    if not partition.when_safe(partition.log.end, done):
        await safe


def report_failure(log: logging.Logger, partition: Partition, what: str, error: Exception) -> None:
    """Where a disk has failed, the message says it all; anything else is our fault, shown with its place."""
    is_ours = not isinstance(error, (TidelogError, OSError))
    log.error("%r cannot be loaded, its %s are not served yet: %s", partition, what, error, exc_info=is_ours)


async def load_batches(partition: Partition, take: TakeBatch, run_in_thread: RunInThread) -> int:
    """Replay all that is safe; answers how many records that was."""
    count = 0
    offset = partition.log.start
    while offset < partition.high_watermark:
        found = partition.log.read(offset, CHUNK_BYTES, end=partition.high_watermark)
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
