"""OffsetCommit: how far a group has read. Offsets for partitions that do not exist are refused one by one."""

import asyncio

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.context import Context
from tidelog.groups.offset_commit import CommitAnswer
from tidelog.groups.offset_messages import CommitPartition, CommitRequest, CommitTopic
from tidelog.metadata.entities import TopicImage
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
    response = OffsetCommitResponse()
    known: list[CommitTopic] = []
    answers: dict[str, dict[int, OffsetCommitResponsePartition]] = {}
    for topic in request.topics:
        image = _image(context, topic)
        shown = OffsetCommitResponseTopic(topic_id=topic.topic_id, name=topic.name, partitions=[])
        response.topics.append(shown)
        fitting: list[CommitPartition] = []
        for asked in topic.partitions:
            answer = OffsetCommitResponsePartition(partition_index=asked.partition_index)
            shown.partitions.append(answer)
            if image is None or image.partition(asked.partition_index) is None:
                answer.error_code = _unknown(context, image)
                continue
            fitting.append(
                CommitPartition(
                    asked.partition_index,
                    asked.committed_offset,
                    asked.committed_leader_epoch,
                    asked.committed_metadata,
                )
            )
            answers.setdefault(image.name, {})[asked.partition_index] = answer
        if image is not None and fitting:
            known.append(CommitTopic(image.name, fitting))
    try:
        home = context.services.groups.of(request.group_id)
    except KafkaError as error:
        return _all(response, error.code)
    wanted = CommitRequest(
        group_id=request.group_id,
        topics=known,
        generation_id_or_member_epoch=request.generation_id_or_member_epoch,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        retention_time_ms=request.retention_time_ms,
        api_version=context.version,
    )
    outcome = home.shard.commit(wanted, *home.now)

    def fill(committed: CommitAnswer) -> OffsetCommitResponse:
        for topic in committed:
            for result in topic.partitions:
                answers[topic.name][result.partition_index].error_code = result.error
        return response

    return home.commit(outcome, fill)


def _image(context: Context, topic: OffsetCommitRequestTopic) -> TopicImage | None:
    image = context.services.metadata.image
    by_id = context.version >= FIRST_VERSION_BY_ID
    return image.topic_by_id(topic.topic_id) if by_id else image.topic(topic.name)


def _unknown(context: Context, image: TopicImage | None) -> ErrorCode:
    if context.version >= FIRST_VERSION_BY_ID and image is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _all(response: OffsetCommitResponse, code: ErrorCode) -> OffsetCommitResponse:
    for topic in response.topics:
        for partition in topic.partitions:
            partition.error_code = code
    return response
