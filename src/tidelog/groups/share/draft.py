"""A draft of a share group: what only such a group has; the rest is in `epoch_draft`."""

from tidelog.base.ids import Uuid
from tidelog.groups.consumer.epoch_draft import EpochDraft
from tidelog.groups.record_formats import share_group as formats
from tidelog.groups.record_formats.share_group import (
    Key,
    ShareEpoch,
    ShareSubscription,
    ShareTarget,
    StoredStates,
)
from tidelog.groups.share.group import ShareGroup


class Draft(EpochDraft[ShareGroup, ShareSubscription, Uuid]):
    __slots__ = ()

    def put_epoch(self, epoch: int, metadata_hash: int) -> None:
        value = ShareEpoch(epoch, metadata_hash)
        self.step.context.counters.rebalances += 1
        self.write(Key.GROUP, None, formats.encode_group(value)).put_epoch(value)

    def put_target_epoch(self, value: ShareTarget) -> None:
        self.write(Key.TARGET, None, formats.encode_target_epoch(value)).put_target_epoch(value)

    def put_states(self, states: StoredStates) -> None:
        self.write(Key.STATES, None, formats.encode_states(states)).states = states
