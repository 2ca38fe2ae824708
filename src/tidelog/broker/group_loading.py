"""Reading a partition of `__consumer_offsets` back into a shard, chunk by chunk, in a thread."""

from functools import partial

from tidelog.base.ports import FileSlice
from tidelog.broker.flusher import RunInThread
from tidelog.groups.shard import GroupShard
from tidelog.replication.partition import Partition
from tidelog.wire.batch import iter_batches
from tidelog.wire.record import read_records

CHUNK_BYTES = 4 << 20


async def load(partition: Partition, shard: GroupShard, run_in_thread: RunInThread) -> int:
    """Replay all that is safe; answers how many records that was. Nobody else may use the shard yet."""
    count = 0
    offset = partition.log.start
    while offset < partition.high_watermark:
        found = partition.log.read(offset, CHUNK_BYTES, end=partition.high_watermark)
        if found is None:
            break
        offset, replayed = await run_in_thread(partial(_replay, found.slice, offset, shard))
        count += replayed
    return count


def _replay(chunk: FileSlice, start: int, shard: GroupShard) -> tuple[int, int]:
    data = memoryview(chunk.read())
    offset, count = start, 0
    for position, header in iter_batches(data):
        if not header.is_control:
            for record in read_records(data[position : position + header.size]):
                if record.key is not None:
                    shard.replay(record.key, record.value)
                    count += 1
        offset = header.next_offset
    return offset, count
