"""OffsetDelete: forget what a group committed for partitions that it no longer reads."""

import asyncio
from collections.abc import Iterable

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.context import Context
from tidelog.groups.offsets.messages import DeleteOffsetsAnswer, DeleteTopic
from tidelog.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


def handle(
    context: Context, request: OffsetDeleteRequest
) -> "OffsetDeleteResponse | asyncio.Future[OffsetDeleteResponse]":
    if not request.group_id:
        return OffsetDeleteResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    try:
        served = context.services.groups.of(request.group_id)
    except KafkaError as error:
        return OffsetDeleteResponse(error_code=error.code)
    image = context.services.metadata.image
    known: list[DeleteTopic] = []
    unknown: list[OffsetDeleteResponseTopic] = []
    for topic in request.topics:
        indexes = [partition.partition_index for partition in topic.partitions]
        found = image.topic(topic.name)
        fitting = [index for index in indexes if found is not None and found.partition(index) is not None]
        known.append(DeleteTopic(topic.name, fitting))
        strangers = [
            (index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) for index in indexes if index not in fitting
        ]
        unknown.append(_topic(topic.name, strangers))

    def response(answer: DeleteOffsetsAnswer) -> OffsetDeleteResponse:
        if answer.error:
            return OffsetDeleteResponse(error_code=answer.error)
        topics = [_topic(topic.name, topic.partitions) for topic in answer.topics]
        for topic, strangers in zip(topics, unknown, strict=True):
            topic.partitions += strangers.partitions
        return OffsetDeleteResponse(topics=topics)

    return served.run(served.shard.delete_offsets(request.group_id, known, *served.now), response)


def _topic(name: str, results: Iterable[tuple[int, ErrorCode]]) -> OffsetDeleteResponseTopic:
    return OffsetDeleteResponseTopic(
        name=name,
        partitions=[
            OffsetDeleteResponsePartition(partition_index=index, error_code=error) for index, error in results
        ],
    )
