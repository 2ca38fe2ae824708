"""OffsetDelete: forget what a group committed for partitions that it no longer reads."""

import asyncio

from tidelog.base.errors import KafkaError
from tidelog.broker.context import Context
from tidelog.groups.offset_messages import DeleteOffsetsAnswer, DeleteTopic
from tidelog.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


def handle(
    context: Context, request: OffsetDeleteRequest
) -> "OffsetDeleteResponse | asyncio.Future[OffsetDeleteResponse]":
    try:
        home = context.services.groups.of(request.group_id)
    except KafkaError as error:
        return OffsetDeleteResponse(error_code=error.code)
    topics = [DeleteTopic(t.name, [p.partition_index for p in t.partitions]) for t in request.topics]
    return home.run(home.shard.delete_offsets(request.group_id, topics, *home.now), _response)


def _response(answer: DeleteOffsetsAnswer) -> OffsetDeleteResponse:
    return OffsetDeleteResponse(
        error_code=answer.error,
        topics=[
            OffsetDeleteResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetDeleteResponsePartition(partition_index=p.partition_index, error_code=p.error)
                    for p in topic.partitions
                ],
            )
            for topic in answer.topics
        ],
    )
