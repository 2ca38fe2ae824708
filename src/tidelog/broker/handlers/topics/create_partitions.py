"""CreatePartitions: a topic grows; it never shrinks, since keys would move to other partitions."""

from tidelog.broker.requests.context import Context
from tidelog.metadata.topics.create_partitions import TopicGrowth, decide_create_partitions
from tidelog.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

STRICT_SINCE = 3
"""The first version whose clients understand THROTTLING_QUOTA_EXCEEDED."""


async def handle(context: Context, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    wanted = [_wanted(topic) for topic in request.topics]
    quota = context.charge_mutations(strict_since=STRICT_SINCE)
    results = await context.services.metadata.change(
        lambda image: decide_create_partitions(
            image,
            wanted,
            validate_only=request.validate_only,
            charge=None if quota is None else quota.anew(),
        )
    )
    if quota is not None:
        context.throttle_ms = quota.throttle_ms
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(name=r.name, error_code=r.error, error_message=r.message)
            for r in {result.name: result for result in results}.values()
        ]
    )


def _wanted(topic: CreatePartitionsTopic) -> TopicGrowth:
    assignments = None if topic.assignments is None else [a.broker_ids for a in topic.assignments]
    return TopicGrowth(name=topic.name, count=topic.count, assignments=assignments)
