"""A streams group: exactly what its records say, and what follows from that. Decisions work on a `Draft`."""

from typing import cast

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.coordination.decision import StateRecord
from tidelog.groups.consumer.epoch_group import EpochGroup, Records
from tidelog.groups.consumer.states import GroupState
from tidelog.groups.group import GroupKind
from tidelog.groups.offsets.messages import CommitRequest
from tidelog.groups.record_formats import streams_group as formats
from tidelog.groups.record_formats.group_key import encode_key
from tidelog.groups.record_formats.streams_group import (
    Key,
    StreamsEpoch,
    StreamsMember,
    TargetEpoch,
    Topology,
)
from tidelog.groups.record_formats.tasks import Duty, Role
from tidelog.groups.step import Step
from tidelog.groups.streams.topology import inputs, readers

COMMITS_WITH_EPOCH_FROM = 9
FIRST_EPOCH = 1
NO_TOPOLOGY = -1
NO_MEMBER = StreamsMember()


class StreamsGroup(EpochGroup[StreamsMember, Duty]):
    kind = GroupKind.STREAMS
    protocol_type = "streams"
    records = Records(
        Key.GROUP,
        Key.MEMBER,
        Key.TARGET,
        Key.TARGET_OF_MEMBER,
        Key.HOLDING,
        formats.encode_member,
        formats.decode_member,
        formats.encode_target,
        formats.decode_target,
        formats.encode_holding,
        formats.decode_holding,
    )

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        # A member that must wait for the first assignment is at an epoch all the same: 0 would mean to join.
        self.epoch = self.target_epoch = FIRST_EPOCH
        self.validated_topology_epoch = NO_TOPOLOGY
        self.assignment_configs: tuple[tuple[str, str], ...] = ()
        self.topology: Topology | None = None

    def put_epoch(self, value: StreamsEpoch) -> None:
        self.epoch, self.metadata_hash = value.epoch, value.metadata_hash
        self.validated_topology_epoch = value.validated_topology_epoch
        self.assignment_configs = value.assignment_configs

    def put_target_epoch(self, value: TargetEpoch) -> None:
        self.target_epoch, self.assigned_ms = value

    @property
    def state(self) -> GroupState:
        topology_epoch = NO_TOPOLOGY if self.topology is None else self.topology.epoch
        if self.members and (self.topology is None or topology_epoch != self.validated_topology_epoch):
            return GroupState.NOT_READY
        return super().state

    def process_has(self, process_id: str, subtopology_id: str, partition: int) -> bool:
        """Whether a member of that process may have the task in any role: its state is on that disk."""
        return any(
            self.members.get(member_id, NO_MEMBER).process_id == process_id
            for role in Role
            for member_id in self.owners.get((Duty(role, subtopology_id), partition), ())
        )

    # --- what requests about offsets ask

    def accept_commit(self, _step: Step, request: CommitRequest) -> None:
        epoch, member_id = request.generation_id_or_member_epoch, request.member_id
        if epoch < 0 and not self.members:
            return  # an admin, or a consumer that assigns partitions to itself
        member = self.find_member(member_id)
        if request.api_version < COMMITS_WITH_EPOCH_FROM:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "Commits with member epochs need version 9.")
        held = self.holding(member_id)
        if epoch == held.epoch:
            return
        # The answer with a new epoch may be on its way. What it has had since before is its own still.
        if epoch > held.epoch or self.topology is None:
            raise self.stale_epoch(member)
        reader_of = readers(self.topology)
        for topic in request.topics:
            reader = Duty(Role.ACTIVE, reader_of.get(topic.name, ""))
            for partition in topic.partitions:
                since = held.since.get((reader, partition.partition_index))
                if since is None or epoch < since:
                    raise self.stale_epoch(member)

    def is_subscribed(self, topic: str) -> bool:
        if not self.members or self.topology is None:
            return False
        return any(topic in inputs(part) for part in self.topology.subtopologies)

    def tombstones(self) -> list[StateRecord]:
        own = (Key.TOPOLOGY, Key.GROUP)
        return [*self.member_tombstones(), *(StateRecord(encode_key(key, self.id), None) for key in own)]


class InTheWay:
    """The tasks that a member of a process cannot have yet.

    A task is active once in the group. On one process it has one role: two would write to the same state.
    """

    __slots__ = ("_group", "_process_id")

    def __init__(self, group: StreamsGroup, process_id: str) -> None:
        self._group, self._process_id = group, process_id

    def __contains__(self, task: object) -> bool:
        duty, partition = cast("tuple[Duty, int]", task)
        if duty.role is Role.ACTIVE and task in self._group.owners:
            return True
        return self._group.process_has(self._process_id, duty.subtopology_id, partition)
