"""Deletes committed offsets: some on request, all of a group, or those of topics that are gone."""

from collections.abc import Iterable, Sequence

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.pending import Pending
from tidelog.coordination.decision import ShardDecision, StateRecord
from tidelog.groups.durable import DurableState
from tidelog.groups.group import Group
from tidelog.groups.offsets.messages import (
    DeletedGroup,
    DeleteOffsetsAnswer,
    DeleteTopic,
    PartitionResult,
    TopicResult,
)
from tidelog.groups.record_formats.offset_commit import encode_key
from tidelog.groups.step import Step


def delete_offsets(
    step: Step, durable: DurableState, group: Group | None, topics: Sequence[DeleteTopic]
) -> ShardDecision[DeleteOffsetsAnswer]:
    try:
        if group is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
        group.check_offset_delete()
    except KafkaError as refusal:
        return ShardDecision(Pending.ready(DeleteOffsetsAnswer(refusal.code)))
    results = []
    for topic in topics:
        in_use = group.is_subscribed(topic.name)
        error = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if in_use else ErrorCode.NONE
        results.append(
            TopicResult(topic.name, [PartitionResult(index, error) for index in topic.partition_indexes])
        )
        if not in_use:
            for index in topic.partition_indexes:
                which = group.id, topic.name, index
                if durable.offsets.get(*which) is not None or durable.pending.holds(*which):
                    step.append(tombstone(*which))
    return step.answer(DeleteOffsetsAnswer(topics=results), DeleteOffsetsAnswer)


def delete_group(step: Step, durable: DurableState, group_id: str, group: Group | None) -> DeletedGroup:
    if group is None:
        return DeletedGroup(group_id, ErrorCode.GROUP_ID_NOT_FOUND)
    try:
        group.check_delete()
    except KafkaError as refusal:
        return DeletedGroup(group_id, refusal.code)
    for topic, partitions in durable.offsets.of_group(group_id).items():
        step.records.extend(tombstone(group_id, topic, index) for index in partitions)
    step.records.extend(tombstone(*key) for key in durable.pending.of_group(group_id))
    step.records.extend(group.tombstones())
    return DeletedGroup(group_id)


def delete_topics(step: Step, durable: DurableState, topics: Iterable[str]) -> None:
    """Also what is pending: the transaction may well be committed after a topic of the same name was made."""
    for topic in topics:
        for group_id, index in durable.offsets.partitions_of_topic(topic):
            step.append(tombstone(group_id, topic, index))
        for key in durable.pending.of_topic(topic):
            step.append(tombstone(*key))


def tombstone(group_id: str, topic: str, partition: int) -> StateRecord:
    return StateRecord(encode_key(group_id, topic, partition), None)
