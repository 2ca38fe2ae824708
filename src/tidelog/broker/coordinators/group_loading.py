"""Reading a partition of `__consumer_offsets` back into a shard."""

from functools import partial

from tidelog.base.ids import NO_PRODUCER
from tidelog.broker.coordinators.state_loading import load_batches, marker_in
from tidelog.broker.log_dirs.flusher import RunInThread
from tidelog.groups.shard import GroupShard
from tidelog.replication.partition import Partition
from tidelog.wire.batch import BatchHeader
from tidelog.wire.record import ControlType, read_records


async def load(partition: Partition, shard: GroupShard, run_in_thread: RunInThread) -> int:
    """Replay all that is safe; answers how many records that was. Nobody else may use the shard yet."""
    return await load_batches(partition, partial(_take, shard), run_in_thread)


def _take(shard: GroupShard, header: BatchHeader, batch: memoryview) -> int:
    if header.is_control:
        marker = marker_in(batch)
        if marker is not None:
            shard.end_transaction(header.producer_id, marker.type == ControlType.COMMIT)
        return 0
    producer_id = header.producer_id if header.is_transactional else NO_PRODUCER
    count = 0
    for record in read_records(batch):
        if record.key is not None:
            shard.replay(record.key, record.value, producer_id=producer_id)
            count += 1
    return count
