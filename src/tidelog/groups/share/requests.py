"""The requests that reach share groups: finds or makes the group, and answers refusals."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.coordination.decision import ShardDecision
from tidelog.groups.consumer.messages import JOINING
from tidelog.groups.consumer.requests import known_topics
from tidelog.groups.share.checks import check
from tidelog.groups.share.draft import Draft
from tidelog.groups.share.group import ShareGroup
from tidelog.groups.share.heartbeat import heartbeat
from tidelog.groups.share.leave import leave
from tidelog.groups.share.messages import HeartbeatAnswer, HeartbeatRequest
from tidelog.groups.share.room import ShareRoom
from tidelog.groups.step import Step


def share_heartbeat(step: Step, room: ShareRoom, request: HeartbeatRequest) -> ShardDecision[HeartbeatAnswer]:
    try:
        check(request)
        topics = known_topics(room.shared)
        draft = draft_of(step, room, request.group_id, create=request.member_epoch == JOINING)
        if request.member_epoch < JOINING:
            return leave(draft, room, request)
        return heartbeat(draft, room, topics, request)
    except KafkaError as refusal:
        return ShardDecision.of(HeartbeatAnswer(refusal.code, refusal.message), HeartbeatAnswer)


def draft_of(step: Step, room: ShareRoom, group_id: str, *, create: bool = False) -> Draft:
    """KafkaError where there is no such group, or one of another kind: not even an empty one gives way."""
    group = room.shared.groups.get(group_id)
    if isinstance(group, ShareGroup):
        return Draft(step, group)
    if group is not None:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a share group.")
    if not create:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Share group {group_id} not found.")
    return Draft(step, ShareGroup(group_id))
