"""A share partition as it is stored, read for a look: that of a group without members is loaded nowhere."""

from typing import NamedTuple

from tidelog.base.errors import KafkaError
from tidelog.base.ids import NO_EPOCH, Epoch, TimestampMs
from tidelog.broker.shares.group_limits import GroupLimits
from tidelog.broker.shares.large_states import StateReader
from tidelog.broker.shares.state_messages import state_in
from tidelog.broker.shares.state_saver import FENCED
from tidelog.broker.turns import in_turns
from tidelog.replication.partition import Partition
from tidelog.replication.read_limit import ReadLimit
from tidelog.shares.partition.load import StateLoad
from tidelog.shares.partition.share_partition import SharePartition
from tidelog.shares.place import SharePlace
from tidelog.shares.states import NO_START_OFFSET


class StoredShare(NamedTuple):
    """No member holds a record of it, and which records are scheduled is not known."""

    place: SharePlace
    partition: Partition
    leader_epoch: Epoch
    share: SharePartition
    read_limit: ReadLimit


async def read_stored(
    reader: StateReader, limits: GroupLimits, place: SharePlace, partition: Partition, now_ms: TimestampMs
) -> StoredShare | None:
    """None where the group has no state, or has not begun. KafkaError if its coordinator does not answer."""
    leader_epoch = partition.leader_epoch
    load: StateLoad | None = None
    # Without an epoch it is a look that fences no leader.
    parts = reader.read(place, NO_EPOCH)
    try:
        while (part := await parts.next()) is not None:
            if load is None or parts.is_first:
                state = state_in(part)
                if state.start_offset == NO_START_OFFSET:
                    return None
                load = StateLoad(state, partition.log.end)
            await reader.load(load, part)
    except KafkaError as error:
        if error.code in FENCED:
            return None
        raise
    if load is None or not partition.is_leader:
        return None
    share = SharePartition(load, limits.of(place.group_id))
    async for _ in in_turns(iter(lambda: share.wake(now_ms), False), 1):
        pass  # a hundred thousand records may be due
    return StoredShare(place, partition, leader_epoch, share, limits.read_limit(place.group_id))
