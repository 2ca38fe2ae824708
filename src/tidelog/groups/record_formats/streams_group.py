"""The records of streams groups (KIP-1071), one for each thing that changes on its own.

key    17 group   19 member   20 target   21 target of a member   22 what a member holds   23 topology
value  version i16 = 0, then as the schema of each says, in the encoding of flexible versions
"""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple, TypeVar, cast

from tidelog.base.errors import ProtocolError
from tidelog.base.ids import TimestampMs
from tidelog.groups.record_formats import group_key
from tidelog.groups.record_formats import streams_values as values
from tidelog.groups.record_formats.fields import I16, CorruptGroupRecord
from tidelog.groups.record_formats.holding import Holding, member_state
from tidelog.groups.record_formats.tasks import Duty, Role, Tasks
from tidelog.wire.codec import decode, encode
from tidelog.wire.message import Message
from tidelog.wire.messages.streams_group_heartbeat import Subtopology

_VERSION_0 = I16.pack(0)

MessageT = TypeVar("MessageT", bound=Message)


class Key(IntEnum):
    GROUP = 17
    MEMBER = 19
    TARGET = 20
    TARGET_OF_MEMBER = 21
    HOLDING = 22
    TOPOLOGY = 23


_NAMED = (Key.MEMBER, Key.TARGET_OF_MEMBER, Key.HOLDING)


class StreamsEpoch(NamedTuple):
    epoch: int
    metadata_hash: int = 0
    validated_topology_epoch: int = -1
    """The topology whose topics were all there and right; -1 while they are not."""
    assignment_configs: tuple[tuple[str, str], ...] = ()
    """What the last target was made with: when that changes, there has to be a new one."""


class StreamsMember(NamedTuple):
    """What a member said about itself."""

    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topology_epoch: int = -1
    process_id: str = ""
    """Members of one process share the state on its disk."""
    endpoint: tuple[str, int] | None = None
    """Where the application answers queries about its state, host and port."""
    client_tags: tuple[tuple[str, str], ...] = ()


class TargetEpoch(NamedTuple):
    epoch: int
    assigned_ms: TimestampMs = 0


Topology = values.StreamsGroupTopologyValue
"""What the application does, in parts that share no state, and the topics between them."""


def decode_key(data: bytes) -> tuple[Key, str, str]:
    """Kind, group, and the member it is about, if any."""
    key, group_id, name = group_key.decode_key(data, _NAMED)
    return Key(key), group_id, name


def encode_group(value: StreamsEpoch) -> bytes:
    configs = [values.LastAssignmentConfig(key=key, value=text) for key, text in value.assignment_configs]
    return _encode(
        values.StreamsGroupMetadataValue(
            epoch=value.epoch,
            metadata_hash=value.metadata_hash,
            validated_topology_epoch=value.validated_topology_epoch,
            last_assignment_configs=configs,
        )
    )


def decode_group(data: bytes) -> StreamsEpoch:
    stored = _decode("a streams group", values.StreamsGroupMetadataValue, data)
    configs = tuple((config.key, config.value) for config in stored.last_assignment_configs)
    return StreamsEpoch(stored.epoch, stored.metadata_hash, stored.validated_topology_epoch, configs)


def encode_topology(topology: Topology) -> bytes:
    return _encode(topology)


def decode_topology(data: bytes) -> Topology:
    return _decode("a streams topology", values.StreamsGroupTopologyValue, data)


def new_topology(epoch: int, subtopologies: list[Subtopology]) -> Topology:
    """The parts of a topology are stored as members send them."""
    return Topology(epoch=epoch, subtopologies=subtopologies)


def encode_target_epoch(target: TargetEpoch) -> bytes:
    return _encode(
        values.StreamsGroupTargetAssignmentMetadataValue(
            assignment_epoch=target.epoch, assignment_timestamp=target.assigned_ms
        )
    )


def decode_target_epoch(data: bytes) -> TargetEpoch:
    stored = _decode("the epoch of a target", values.StreamsGroupTargetAssignmentMetadataValue, data)
    return TargetEpoch(stored.assignment_epoch, stored.assignment_timestamp)


def encode_member(member: StreamsMember) -> bytes:
    endpoint = None if member.endpoint is None else values.Endpoint(*member.endpoint)
    return _encode(
        values.StreamsGroupMemberMetadataValue(
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            topology_epoch=member.topology_epoch,
            process_id=member.process_id,
            user_endpoint=endpoint,
            client_tags=[values.KeyValue(key=key, value=value) for key, value in member.client_tags],
        )
    )


def decode_member(data: bytes) -> StreamsMember:
    stored = _decode("a streams member", values.StreamsGroupMemberMetadataValue, data)
    endpoint = stored.user_endpoint
    return StreamsMember(
        stored.rack_id,
        stored.client_id,
        stored.client_host,
        stored.rebalance_timeout_ms,
        stored.topology_epoch,
        stored.process_id,
        None if endpoint is None else (endpoint.host, endpoint.port),
        tuple((tag.key, tag.value) for tag in stored.client_tags),
    )


def encode_target(tasks: Tasks) -> bytes:
    active, standby, warmup = (_task_ids(tasks, role) for role in Role)
    return _encode(
        values.StreamsGroupTargetAssignmentMemberValue(
            active_tasks=active, standby_tasks=standby, warmup_tasks=warmup
        )
    )


def decode_target(data: bytes) -> Tasks:
    stored = _decode("a target of tasks", values.StreamsGroupTargetAssignmentMemberValue, data)
    return _tasks(stored.active_tasks, stored.standby_tasks, stored.warmup_tasks)


def encode_holding(holding: Holding[Duty]) -> bytes:
    active, standby, warmup = (_task_ids(holding.assigned, role, holding.since) for role in Role)
    revoked = [_task_ids(holding.revoking, role, holding.since) for role in Role]
    return _encode(
        values.StreamsGroupCurrentMemberAssignmentValue(
            member_epoch=holding.epoch,
            previous_member_epoch=holding.previous_epoch,
            state=holding.state,
            active_tasks=active,
            standby_tasks=standby,
            warmup_tasks=warmup,
            active_tasks_pending_revocation=revoked[Role.ACTIVE],
            standby_tasks_pending_revocation=revoked[Role.STANDBY],
            warmup_tasks_pending_revocation=revoked[Role.WARMUP],
        )
    )


def decode_holding(data: bytes) -> Holding[Duty]:
    stored = _decode("what a member holds", values.StreamsGroupCurrentMemberAssignmentValue, data)
    since = {
        (Duty(Role.ACTIVE, of.subtopology_id), number): epoch
        for of in (*stored.active_tasks, *stored.active_tasks_pending_revocation)
        for number, epoch in zip(of.partitions, of.assignment_epochs, strict=False)
    }
    return Holding(
        stored.member_epoch,
        stored.previous_member_epoch,
        member_state(stored.state),
        _tasks(stored.active_tasks, stored.standby_tasks, stored.warmup_tasks),
        _tasks(
            stored.active_tasks_pending_revocation,
            stored.standby_tasks_pending_revocation,
            stored.warmup_tasks_pending_revocation,
        ),
        since,
    )


def _task_ids(
    tasks: Tasks, role: Role, since: Mapping[tuple[Duty, int], int] | None = None
) -> list[values.TaskIds]:
    """Sorted, so that one assignment has one form; epochs for active tasks alone."""
    listed = []
    for duty, partitions in sorted(tasks.items()):
        if duty.role is role:
            numbers = sorted(partitions)
            epochs: list[int] = []
            if since is not None and role is Role.ACTIVE:
                epochs = [since.get((duty, number), 0) for number in numbers]
            listed.append(values.TaskIds(duty.subtopology_id, numbers, epochs))
    return listed


def _tasks(*by_role: Iterable[values.TaskIds]) -> Tasks:
    return {
        Duty(role, of.subtopology_id): frozenset(of.partitions)
        for role, listed in zip(Role, by_role, strict=True)
        for of in listed
        if of.partitions
    }


def _encode(message: Message) -> bytes:
    body = cast(list[bytes], encode(message, 0))  # a record holds no file ranges
    return _VERSION_0 + b"".join(body)


def _decode(what: str, form: type[MessageT], data: bytes) -> MessageT:
    if data[:2] != _VERSION_0:
        raise CorruptGroupRecord(f"{what} of {len(data)} bytes has a version that is not known")
    try:
        return decode(form, 0, data, len(_VERSION_0))
    except ProtocolError as cause:
        raise CorruptGroupRecord(f"{what} of {len(data)} bytes cannot be read: {cause}") from cause
