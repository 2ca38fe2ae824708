"""A draft of a streams group: what only such a group has; the rest is in `epoch_draft`."""

from tidelog.groups.consumer.epoch_draft import EpochDraft
from tidelog.groups.record_formats import streams_group as formats
from tidelog.groups.record_formats.streams_group import (
    Key,
    StreamsEpoch,
    StreamsMember,
    TargetEpoch,
    Topology,
)
from tidelog.groups.record_formats.tasks import Duty
from tidelog.groups.streams.group import StreamsGroup


class Draft(EpochDraft[StreamsGroup, StreamsMember, Duty]):
    __slots__ = ()

    def put_epoch(self, value: StreamsEpoch) -> None:
        self.step.context.counters.rebalances += 1
        self.write(Key.GROUP, None, formats.encode_group(value)).put_epoch(value)

    def put_topology(self, topology: Topology) -> None:
        self.write(Key.TOPOLOGY, None, formats.encode_topology(topology)).topology = topology

    def put_target_epoch(self, value: TargetEpoch) -> None:
        self.write(Key.TARGET, None, formats.encode_target_epoch(value)).put_target_epoch(value)
