"""How members of a streams group go: of their own will, or because they kept others waiting."""

from tidelog.coordination.decision import ShardDecision
from tidelog.groups.streams.draft import Draft
from tidelog.groups.streams.messages import HeartbeatAnswer, HeartbeatRequest
from tidelog.groups.streams.room import StreamsRoom
from tidelog.groups.streams.target import begin_epoch


def leave(draft: Draft, room: StreamsRoom, request: HeartbeatRequest) -> ShardDecision[HeartbeatAnswer]:
    """KafkaError where the one who leaves is not a member."""
    draft.group.find_member(request.member_id)
    passing = room.passing(request.group_id)
    if request.shutdown_application and passing.shutdown_by is None:
        passing.shutdown_by = request.member_id
    remove(draft, room, request.member_id, "it left")
    answer = HeartbeatAnswer(member_id=request.member_id, member_epoch=request.member_epoch)
    return draft.step.answer(answer, HeartbeatAnswer)


def remove(draft: Draft, room: StreamsRoom, member_id: str, reason: str) -> None:
    """Its tasks are free at once: a member that left or is fenced must not work on them any more."""
    group_id = draft.group.id
    draft.step.note(f"streams group {group_id} removes member {member_id}: {reason}")
    draft.remove_member(member_id)
    begin_epoch(draft)
    if draft.group.is_empty:
        room.on_empty(group_id)
