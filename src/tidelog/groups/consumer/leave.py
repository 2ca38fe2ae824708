"""How members go: of their own will, for a while if they are static, or because they kept others waiting."""

from tidelog.coordination.decision import ShardDecision
from tidelog.groups.consumer.conversion import can_downgrade, downgrade
from tidelog.groups.consumer.draft import Draft
from tidelog.groups.consumer.messages import LEAVING_FOR_A_WHILE, HeartbeatAnswer, HeartbeatRequest
from tidelog.groups.consumer.room import ConsumerRoom
from tidelog.groups.consumer.target import begin_epoch
from tidelog.groups.record_formats.assignment import NOTHING


def leave(draft: Draft, room: ConsumerRoom, request: HeartbeatRequest) -> ShardDecision[HeartbeatAnswer]:
    """KafkaError where the one who leaves is not a member."""
    member_id = request.member_id
    draft.group.find_member(member_id, request.instance_id)
    if request.member_epoch == LEAVING_FOR_A_WHILE:
        holding = draft.group.holding(member_id)
        draft.put_holding(member_id, holding._replace(epoch=LEAVING_FOR_A_WHILE, revoking=NOTHING))
    else:
        remove(draft, room, member_id, "it left")
    answer = HeartbeatAnswer(member_id=member_id, member_epoch=request.member_epoch)
    return draft.step.answer(answer, HeartbeatAnswer)


def remove(draft: Draft, room: ConsumerRoom, member_id: str, reason: str) -> None:
    """Its partitions are free at once: a member that left or is fenced must not use them any more."""
    group = draft.group
    draft.step.note(f"group {group.id} removes member {member_id}: {reason}")
    if can_downgrade(draft.step, group, member_id):
        downgrade(draft, room, member_id)
        return
    draft.remove_member(member_id)
    end_removal(draft, room)


def end_removal(draft: Draft, room: ConsumerRoom) -> None:
    """Members were removed: the next heartbeat of anybody assigns anew."""
    draft.remove_unused_patterns()
    names = draft.group.all_topic_names()
    known = draft.group.metadata_hash
    begin_epoch(draft, known if room.topics is None else room.topics.hash_of(names))
