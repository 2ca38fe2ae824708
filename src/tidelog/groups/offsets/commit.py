"""OffsetCommit: members say how far they are, and consumers outside any group keep their positions here.

The busiest request of all: one pass over the partitions, one record each.
"""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import LAST_TIMESTAMP, NO_TIMESTAMP
from tidelog.base.pending import Pending
from tidelog.coordination.decision import ShardDecision, StateRecord
from tidelog.groups.group import Group
from tidelog.groups.offsets.messages import CommitRequest, PartitionResult, TopicResult
from tidelog.groups.record_formats.offset_commit import CommittedOffset, encode_value, key_of, key_prefix
from tidelog.groups.step import Step

CommitAnswer = list[TopicResult]
"""One for each topic of the request, in its order."""

NOT_FOUND_FROM = 9


def commit(step: Step, group: Group | None, request: CommitRequest) -> ShardDecision[CommitAnswer]:
    try:
        _accept(step, group, request)
    except KafkaError as refusal:
        return ShardDecision(Pending.ready(all_refused(request, refusal.code)))
    return write_offsets(step, request)


def write_offsets(step: Step, request: CommitRequest) -> ShardDecision[CommitAnswer]:
    """One record for each partition; the member may commit."""
    metadata_max = step.context.settings.offset_metadata_chars_max
    retention_ms = request.retention_time_ms
    expires = NO_TIMESTAMP if retention_ms < 0 else min(step.now_ms + retention_ms, LAST_TIMESTAMP)
    answer: CommitAnswer = []
    records = step.records
    for topic in request.topics:
        prefix = key_prefix(request.group_id, topic.name)
        results = []
        for index, offset, leader_epoch, metadata in topic.partitions:
            if metadata is not None and len(metadata) > metadata_max:
                results.append(PartitionResult(index, ErrorCode.OFFSET_METADATA_TOO_LARGE))
                continue
            committed = CommittedOffset(offset, leader_epoch, metadata or "", step.now_ms, expires)
            records.append(StateRecord(key_of(prefix, index), encode_value(committed)))
            results.append(PartitionResult(index))
        answer.append(TopicResult(topic.name, results))
    return step.answer(answer, lambda error: all_refused(request, error))


def all_refused(request: CommitRequest, error: ErrorCode) -> CommitAnswer:
    return [
        TopicResult(topic.name, [PartitionResult(one.partition_index, error) for one in topic.partitions])
        for topic in request.topics
    ]


def _accept(step: Step, group: Group | None, request: CommitRequest) -> None:
    generation = request.generation_id_or_member_epoch
    if group is not None:
        group.accept_commit(step, request)
    elif generation >= 0:
        not_found = request.api_version >= NOT_FOUND_FROM
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND if not_found else ErrorCode.ILLEGAL_GENERATION)
