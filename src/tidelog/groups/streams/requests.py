"""The requests that reach streams groups: finds or makes the group, and answers refusals."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.coordination.decision import ShardDecision
from tidelog.groups.classic.group import ClassicGroup
from tidelog.groups.consumer.messages import JOINING
from tidelog.groups.consumer.requests import known_topics
from tidelog.groups.step import Step
from tidelog.groups.streams.checks import check
from tidelog.groups.streams.draft import Draft
from tidelog.groups.streams.group import StreamsGroup
from tidelog.groups.streams.heartbeat import heartbeat
from tidelog.groups.streams.leave import leave
from tidelog.groups.streams.messages import HeartbeatAnswer, HeartbeatRequest
from tidelog.groups.streams.room import StreamsRoom


def streams_heartbeat(
    step: Step, room: StreamsRoom, request: HeartbeatRequest
) -> ShardDecision[HeartbeatAnswer]:
    step.if_failed(lambda *_: room.tidy(request.group_id))
    try:
        check(request)
        topics = known_topics(room.shared)
        draft = _draft(step, room, request)
        if request.member_epoch < JOINING:
            return leave(draft, room, request)
        return heartbeat(draft, room, topics, request)
    except KafkaError as refusal:
        room.tidy(request.group_id)
        return ShardDecision.of(HeartbeatAnswer(refusal.code, refusal.message), HeartbeatAnswer)


def _draft(step: Step, room: StreamsRoom, request: HeartbeatRequest) -> Draft:
    group = room.shared.groups.get(request.group_id)
    if isinstance(group, StreamsGroup):
        return Draft(step, group)
    if isinstance(group, ClassicGroup) and group.is_empty and request.member_epoch == JOINING:
        step.records.extend(group.tombstones())  # an empty classic group gives way; its offsets stay
        group = None
    if group is not None:
        why = f"Group {request.group_id} is not a streams group."
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, why)
    if request.member_epoch != JOINING:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Streams group {request.group_id} not found.")
    return Draft(step, StreamsGroup(request.group_id))
