"""The requests about offsets of share groups: finds the group, and answers refusals."""

from collections.abc import Collection, Mapping, Sequence

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Offset, Uuid
from tidelog.base.pending import Pending
from tidelog.coordination.decision import ShardDecision
from tidelog.groups.consumer.requests import known_topics
from tidelog.groups.share import making, offsets
from tidelog.groups.share.draft import Draft
from tidelog.groups.share.group import ShareGroup
from tidelog.groups.share.messages import StatesToDelete
from tidelog.groups.share.offsets import AlterAnswer, DeleteAnswer
from tidelog.groups.share.requests import draft_of
from tidelog.groups.share.room import ShareRoom
from tidelog.groups.share.states import Partitions
from tidelog.groups.step import Step


def alter(
    step: Step, room: ShareRoom, group_id: str, wanted: Mapping[str, Mapping[int, Offset]]
) -> ShardDecision[AlterAnswer]:
    """A group that does not exist is made, so that its offsets can be set before the first member comes."""
    try:
        offsets.check_group_id(group_id)
        topics = known_topics(room.shared)
        answer = offsets.alter(draft_of(step, room, group_id, create=True), room, topics, wanted)
    except KafkaError as refusal:
        return ShardDecision.of(AlterAnswer(refusal.code, refusal.message), AlterAnswer)
    return step.answer(answer, AlterAnswer)


def begin_deletion(
    step: Step, room: ShareRoom, group_id: str, names: Sequence[str]
) -> ShardDecision[DeleteAnswer]:
    try:
        offsets.check_group_id(group_id)
        topics = known_topics(room.shared)
        answer = offsets.begin_deletion(draft_of(step, room, group_id), topics, names)
    except KafkaError as refusal:
        return ShardDecision.of(DeleteAnswer(refusal.code, refusal.message), DeleteAnswer)
    return step.answer(answer, DeleteAnswer)


def begin_deletion_of_all(step: Step, room: ShareRoom, group_id: str) -> ShardDecision[DeleteAnswer]:
    """For a group of another kind, there is nothing to do."""
    if not isinstance(room.shared.groups.get(group_id), ShareGroup):
        return ShardDecision.of(DeleteAnswer(), DeleteAnswer)
    try:
        topics = known_topics(room.shared)
        to_delete = offsets.begin_deletion_of_all(draft_of(step, room, group_id), topics)
    except KafkaError as refusal:
        return ShardDecision.of(DeleteAnswer(refusal.code, refusal.message), DeleteAnswer)
    return step.answer(DeleteAnswer(to_delete=to_delete), DeleteAnswer)


def end_making(
    step: Step, room: ShareRoom, group_id: str, made: Partitions, failed: Partitions
) -> ShardDecision[ErrorCode]:
    """The group may be gone by now."""
    group = room.shared.groups.get(group_id)
    if isinstance(group, ShareGroup):
        making.end(Draft(step, group), room, made, failed)
    return step.answer(ErrorCode.NONE, _same)


def end_deletion(
    step: Step, room: ShareRoom, group_id: str, topics: Collection[Uuid]
) -> ShardDecision[ErrorCode]:
    group = room.shared.groups.get(group_id)
    if isinstance(group, ShareGroup):
        offsets.end_deletion(Draft(step, group), topics)
    return step.answer(ErrorCode.NONE, _same)


def drop_topics(step: Step, room: ShareRoom, gone: Collection[Uuid]) -> ShardDecision[None] | None:
    for group in room.share_groups():
        offsets.drop_topics(Draft(step, group), gone)
    return step.decision(Pending.ready(None)) if step.records else None


def still_deleting(room: ShareRoom) -> list[StatesToDelete]:
    topics = room.shared.topics
    if topics is None:
        return []
    found = (offsets.still_deleting(group, topics) for group in room.share_groups())
    return [one for one in found if one is not None]


def _same(error: ErrorCode) -> ErrorCode:
    return error
