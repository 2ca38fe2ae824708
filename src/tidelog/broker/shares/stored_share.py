"""A share partition as it is stored, read for a look: that of a group without members is loaded nowhere."""

from typing import NamedTuple

from tidelog.base.errors import KafkaError
from tidelog.base.ids import NO_EPOCH, Epoch
from tidelog.broker.shares.group_limits import GroupLimits
from tidelog.broker.shares.ports import StateStore
from tidelog.broker.shares.start_offset import within_log
from tidelog.broker.shares.state_messages import read_request, state_in
from tidelog.broker.shares.state_saver import FENCED
from tidelog.replication.partition import Partition
from tidelog.replication.read_limit import ReadLimit
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
    store: StateStore, limits: GroupLimits, place: SharePlace, partition: Partition
) -> StoredShare | None:
    """None where the group has no state, or has not begun. KafkaError if its coordinator does not answer."""
    leader_epoch = partition.leader_epoch
    # Without an epoch it is a look that fences no leader.
    state = state_in(await store.read(read_request(place, NO_EPOCH)))
    if isinstance(state, KafkaError):
        if state.code in FENCED:
            return None
        raise state
    if state.start_offset == NO_START_OFFSET:
        return None
    share = SharePartition(within_log(state, partition.log.end), limits.of(place.group_id))
    return StoredShare(place, partition, leader_epoch, share, limits.read_limit(place.group_id))
