"""The log of groups, `__consumer_offsets`. Transactions write to it, too, when a producer commits offsets."""

from tidelog.base.errors import KafkaError
from tidelog.base.ids import NO_PRODUCER
from tidelog.broker.coordinators.runtime.served_partition import ServedPartition
from tidelog.groups.shard import GroupShard
from tidelog.replication.partition import Produced
from tidelog.wire.batch import BatchHeader, read_header
from tidelog.wire.record import Control, ControlType, read_control, read_records


def replay_batch(shard: GroupShard, header: BatchHeader, batch: memoryview) -> int:
    """Replay one batch while the shard is loaded; returns the number of records."""
    if header.is_control:
        marker = _marker_in(batch)
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


def append_marker(served: ServedPartition[GroupShard], marker: bytearray) -> Produced:
    """A transaction has ended: the offsets committed within it count from now on, or are dropped."""
    shard = served.shard
    header, control = read_header(marker), read_control(marker)
    produced = served.partition.append_own(marker, now_ms=served.now[1])
    is_commit = control is not None and control.type == ControlType.COMMIT
    shard.end_transaction(header.producer_id, is_commit)
    return produced


def _marker_in(batch: memoryview) -> Control | None:
    """Returns the transaction marker in a control batch, if it holds one."""
    try:
        control = read_control(batch)
    except KafkaError:
        return None  # a kind of control batch that only a later version knows
    return control if control is not None and control.is_marker else None
