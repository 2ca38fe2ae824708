"""The requests that reach consumer groups: finds or creates the group, and answers refusals."""

import uuid
from collections.abc import Sequence

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.pending import Pending
from tidelog.coordination.decision import ShardDecision
from tidelog.groups.classic.group import ClassicGroup
from tidelog.groups.classic.messages import (
    JoinAnswer,
    JoinRequest,
    LeaveAnswer,
    LeavingMember,
    SyncAnswer,
    SyncRequest,
)
from tidelog.groups.consumer import classic_members
from tidelog.groups.consumer.checks import NAME_CHARS_MAX, check
from tidelog.groups.consumer.conversion import upgrade
from tidelog.groups.consumer.draft import Draft
from tidelog.groups.consumer.group import ConsumerGroup
from tidelog.groups.consumer.heartbeat import heartbeat
from tidelog.groups.consumer.leave import leave
from tidelog.groups.consumer.messages import JOINING, HeartbeatAnswer, HeartbeatRequest
from tidelog.groups.consumer.room import ConsumerRoom
from tidelog.groups.consumer.topics import Topics
from tidelog.groups.share.group import ShareGroup
from tidelog.groups.step import Step
from tidelog.groups.streams.group import StreamsGroup


def consumer_heartbeat(
    step: Step, room: ConsumerRoom, request: HeartbeatRequest
) -> ShardDecision[HeartbeatAnswer]:
    try:
        check(request, step.context.settings)
        topics = known_topics(room)
        draft = _draft(step, room, topics, request)
        if request.member_epoch < JOINING:
            return leave(draft, room, request)
        return heartbeat(draft, room, topics, request)
    except KafkaError as refusal:
        _look_again(room, request.group_id)
        return ShardDecision.of(HeartbeatAnswer(refusal.code, refusal.message), HeartbeatAnswer)


def classic_join(
    step: Step, room: ConsumerRoom, group: ConsumerGroup, request: JoinRequest
) -> ShardDecision[JoinAnswer]:
    """`request` went through the checks of classic joins."""
    prefix = (request.group_instance_id or request.client_id)[:NAME_CHARS_MAX]
    new_id = f"{prefix}-{uuid.UUID(bytes=step.context.random.bytes(16), version=4)}"
    try:
        return classic_members.join(Draft(step, group), room, known_topics(room), request, new_id)
    except KafkaError as refusal:
        _look_again(room, group.id)
        return ShardDecision(Pending.ready(JoinAnswer(refusal.code, request.member_id)))


def classic_sync(
    step: Step, room: ConsumerRoom, group: ConsumerGroup, request: SyncRequest
) -> ShardDecision[SyncAnswer]:
    try:
        answer = classic_members.sync(step, room, known_topics(room), group, request)
    except KafkaError as refusal:
        answer = SyncAnswer(refusal.code)
    return ShardDecision.of(answer, SyncAnswer)


def classic_heartbeat(
    step: Step, room: ConsumerRoom, group: ConsumerGroup, who: LeavingMember, generation: int
) -> ErrorCode:
    try:
        classic_members.heartbeat(step, room, group, who, generation)
    except KafkaError as refusal:
        return refusal.code
    return ErrorCode.NONE


def classic_leave(
    step: Step, room: ConsumerRoom, group: ConsumerGroup, members: Sequence[LeavingMember]
) -> ShardDecision[LeaveAnswer]:
    return classic_members.leave(Draft(step, group), room, members)


def _draft(step: Step, room: ConsumerRoom, topics: Topics, request: HeartbeatRequest) -> Draft:
    group = room.groups.get(request.group_id)
    if isinstance(group, ConsumerGroup):
        return Draft(step, group)
    if request.member_epoch != JOINING:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {request.group_id} not found.")
    if isinstance(group, ClassicGroup) and not group.is_empty:
        return upgrade(step, room, topics, group)
    if isinstance(group, StreamsGroup | ShareGroup):
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group.id} is not a consumer group.")
    if group is not None:  # an empty classic group gives way; its offsets stay
        step.records.extend(group.tombstones())
    return Draft(step, ConsumerGroup(request.group_id))


def known_topics(room: ConsumerRoom) -> Topics:
    if room.topics is None:
        raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    return room.topics


def _look_again(room: ConsumerRoom, group_id: str) -> None:
    """A refused request may have looked at the topics, and nothing came of it."""
    if isinstance(room.groups.get(group_id), ConsumerGroup):
        room.stale.add(group_id)
