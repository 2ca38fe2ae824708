"""Clients read what they wrote: a request for the end of a log waits for the sync that is under way.

Under `fsync` a produce with acks=1 or acks=0 is done when its record is written, and the record can be read
one sync later (ADR 0002). Producers that ask for speed keep it; the few requests that could notice the
difference wait, together, for that one sync.
"""

import asyncio
from collections.abc import Iterable

from tidelog.base.errors import KafkaError
from tidelog.broker.log_dirs.hosted import HostedPartitions
from tidelog.replication.partition import Partition

READABLE_SECONDS = 10.0
"""If a sync takes longer than this, readers wait no more and see what is synced."""


def not_readable_yet(hosted: HostedPartitions, places: Iterable[tuple[str, int]]) -> list[Partition]:
    """Returns the partitions whose newest records are written, but not synced."""
    behind = []
    for topic, index in places:
        try:
            partition = hosted.find(topic, index)
        except KafkaError:
            continue
        if partition.written_end > partition.high_watermark:
            behind.append(partition)
    return behind


async def until_readable(partitions: Iterable[Partition]) -> None:
    """Wait until all that is written now can be read, or never will be: another look then says why."""
    await asyncio.gather(*(_until_readable(partition) for partition in partitions))


async def _until_readable(partition: Partition) -> None:
    readable: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def done(_: KafkaError | None) -> None:
        if not readable.done():
            readable.set_result(None)

    try:
        if partition.when_committed(partition.written_end, done):
            return
    except KafkaError:
        return
    try:
        async with asyncio.timeout(READABLE_SECONDS):
            await readable
    except TimeoutError:
        pass
    finally:
        partition.forget(done)
