"""How members of a share group go: of their own will, or because their session ended."""

from tidelog.coordination.decision import ShardDecision
from tidelog.groups.share.draft import Draft
from tidelog.groups.share.messages import HeartbeatAnswer, HeartbeatRequest
from tidelog.groups.share.room import ShareRoom


def leave(draft: Draft, room: ShareRoom, request: HeartbeatRequest) -> ShardDecision[HeartbeatAnswer]:
    """KafkaError where the client that leaves is not a member."""
    draft.group.find_member(request.member_id)
    remove(draft, room, request.member_id, "it left")
    answer = HeartbeatAnswer(member_id=request.member_id, member_epoch=request.member_epoch)
    return draft.step.answer(answer, HeartbeatAnswer)


def remove(draft: Draft, room: ShareRoom, member_id: str, reason: str) -> None:
    """The next heartbeat of any member assigns anew."""
    draft.step.note(f"share group {draft.group.id} removes member {member_id}: {reason}")
    draft.remove_member(member_id)
    group, topics = draft.group, room.shared.topics
    known = group.metadata_hash
    draft.put_epoch(group.epoch + 1, known if topics is None else topics.hash_of(group.topics_read(topics)))
