"""OffsetDelete: forget what a group committed for partitions that it no longer reads."""

import asyncio
from collections.abc import Iterable

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.context import Context
from tidelog.groups.offsets.messages import DeleteOffsetsAnswer, DeleteTopic
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


def handle(
    context: Context, request: OffsetDeleteRequest
) -> "OffsetDeleteResponse | asyncio.Future[OffsetDeleteResponse]":
    if not context.allows(Operation.DELETE, ResourceType.GROUP, request.group_id):
        return OffsetDeleteResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    if not request.group_id:
        return OffsetDeleteResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    try:
        served = context.services.groups.of(request.group_id)
    except KafkaError as error:
        return OffsetDeleteResponse(error_code=error.code)
    image = context.services.metadata.image
    known: list[DeleteTopic] = []
    refused: list[OffsetDeleteResponseTopic] = []
    for topic in request.topics:
        indexes = [partition.partition_index for partition in topic.partitions]
        is_allowed = context.allows(Operation.READ, ResourceType.TOPIC, topic.name)
        found = image.topic(topic.name) if is_allowed else None
        fitting = [index for index in indexes if found is not None and found.partition(index) is not None]
        known.append(DeleteTopic(topic.name, fitting))
        refusal = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_allowed else ErrorCode.TOPIC_AUTHORIZATION_FAILED
        refused.append(_topic(topic.name, [(index, refusal) for index in indexes if index not in fitting]))

    def response(answer: DeleteOffsetsAnswer) -> OffsetDeleteResponse:
        if answer.error:
            return OffsetDeleteResponse(error_code=answer.error)
        topics = [_topic(topic.name, topic.partitions) for topic in answer.topics]
        for topic, others in zip(topics, refused, strict=True):
            topic.partitions += others.partitions
        return OffsetDeleteResponse(topics=topics)

    return served.run(served.shard.delete_offsets(request.group_id, known, *served.now), response)


def _topic(name: str, results: Iterable[tuple[int, ErrorCode]]) -> OffsetDeleteResponseTopic:
    return OffsetDeleteResponseTopic(
        name=name,
        partitions=[
            OffsetDeleteResponsePartition(partition_index=index, error_code=error) for index, error in results
        ],
    )
