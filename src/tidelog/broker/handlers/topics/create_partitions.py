"""CreatePartitions: a topic grows; it never shrinks, since keys would move to other partitions."""

from collections import Counter

from tidelog.base.errors import ErrorCode
from tidelog.broker.requests.context import Context
from tidelog.metadata.topics.create_partitions import TopicGrowth, decide_create_partitions
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

STRICT_SINCE = 3
"""The first version whose clients understand THROTTLING_QUOTA_EXCEEDED."""


async def handle(context: Context, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    times = Counter(topic.name for topic in request.topics)
    refused = {
        name
        for name, count in times.items()
        if count == 1 and not context.allows(Operation.ALTER, ResourceType.TOPIC, name)
    }
    wanted = [_wanted(topic) for topic in request.topics if topic.name not in refused]
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
    error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(name=r.name, error_code=r.error, error_message=r.message)
            for r in {result.name: result for result in results}.values()
        ]
        + [
            CreatePartitionsTopicResult(name=name, error_code=error, error_message=error.text)
            for name in times
            if name in refused
        ]
    )


def _wanted(topic: CreatePartitionsTopic) -> TopicGrowth:
    assignments = None if topic.assignments is None else [a.broker_ids for a in topic.assignments]
    return TopicGrowth(name=topic.name, count=topic.count, assignments=assignments)
