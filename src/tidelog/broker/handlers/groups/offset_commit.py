"""OffsetCommit: how far a group has read. Offsets for partitions that do not exist are refused one by one."""

import asyncio

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.context import Context
from tidelog.groups.offsets.commit import CommitAnswer
from tidelog.groups.offsets.messages import CommitPartition, CommitRequest, CommitTopic
from tidelog.metadata.image.entities import TopicImage
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

FIRST_VERSION_BY_ID = 10


def handle(
    context: Context, request: OffsetCommitRequest
) -> "OffsetCommitResponse | asyncio.Future[OffsetCommitResponse]":
    if not context.allows(Operation.READ, ResourceType.GROUP, request.group_id):
        return _all_refused(request, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    known: list[CommitTopic] = []
    waiting: list[OffsetCommitResponsePartition] = []  # in the order of `known`, to be filled in
    response = OffsetCommitResponse(
        topics=[_sort(context, topic, known, waiting) for topic in request.topics]
    )
    try:
        served = context.services.groups.of(request.group_id)
    except KafkaError as error:
        return _all_refused(request, error.code)
    commit = CommitRequest(
        request.group_id,
        known,
        request.generation_id_or_member_epoch,
        request.member_id,
        request.group_instance_id,
        request.retention_time_ms,
        context.version,
    )

    def fill(committed: CommitAnswer) -> OffsetCommitResponse:
        results = (result for topic in committed for result in topic.partitions)
        for answer, result in zip(waiting, results, strict=True):
            answer.error_code = result.error
        return response

    return served.gather(lambda shard: shard.commit(commit, *served.now), fill)


def _sort(
    context: Context,
    topic: OffsetCommitRequestTopic,
    known: list[CommitTopic],
    waiting: list[OffsetCommitResponsePartition],
) -> OffsetCommitResponseTopic:
    """Refuse what does not exist; the rest goes to `known`, its answers to `waiting`."""
    image = _image(context, topic)
    refusal = _refusal(context, topic, image)
    count = (
        0 if image is None or refusal is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION else len(image.partitions)
    )
    shown: list[OffsetCommitResponsePartition] = []
    fitting: list[CommitPartition] = []
    for asked in topic.partitions:
        index = asked.partition_index
        answer = OffsetCommitResponsePartition(partition_index=index)
        shown.append(answer)
        if 0 <= index < count:
            fitting.append(
                CommitPartition(
                    index, asked.committed_offset, asked.committed_leader_epoch, asked.committed_metadata
                )
            )
            waiting.append(answer)
        else:
            answer.error_code = refusal
    if image is not None and fitting:
        known.append(CommitTopic(image.name, fitting))
    return OffsetCommitResponseTopic(topic_id=topic.topic_id, name=topic.name, partitions=shown)


def _image(context: Context, topic: OffsetCommitRequestTopic) -> TopicImage | None:
    image = context.services.metadata.image
    by_id = context.version >= FIRST_VERSION_BY_ID
    return image.topic_by_id(topic.topic_id) if by_id else image.topic(topic.name)


def _refusal(context: Context, topic: OffsetCommitRequestTopic, image: TopicImage | None) -> ErrorCode:
    """Returns the error for the partitions that get no commit."""
    if context.version >= FIRST_VERSION_BY_ID and image is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    name = topic.name if image is None else image.name
    if not context.allows(Operation.READ, ResourceType.TOPIC, name):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _all_refused(request: OffsetCommitRequest, code: ErrorCode) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                topic_id=topic.topic_id,
                name=topic.name,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=asked.partition_index, error_code=code)
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
