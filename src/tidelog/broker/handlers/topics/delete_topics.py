"""DeleteTopics: by name, or from version 6 by id."""

from tidelog.base.ids import ZERO_UUID
from tidelog.broker.requests.context import Context
from tidelog.metadata.topics.delete_topics import TopicToDelete, decide_delete_topics
from tidelog.wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)

STRICT_SINCE = 5
"""The first version whose clients understand THROTTLING_QUOTA_EXCEEDED."""


async def handle(context: Context, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    services = context.services
    if context.version >= 6:
        topics = [TopicToDelete(name=topic.name, topic_id=topic.topic_id) for topic in request.topics]
    else:
        topics = [TopicToDelete(name=name, topic_id=ZERO_UUID) for name in request.topic_names]
    enabled = services.config.bool("delete.topic.enable")
    quota = context.charge_mutations(strict_since=STRICT_SINCE)
    results = await services.metadata.change(
        lambda image: decide_delete_topics(
            image, topics, enabled=enabled, charge=None if quota is None else quota.anew()
        )
    )
    if quota is not None:
        context.throttle_ms = quota.throttle_ms
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(
                name=result.name if result.name is not None or context.version >= 6 else "",
                topic_id=result.topic_id,
                error_code=result.error,
                error_message=result.message,
            )
            for result in {(result.name, result.topic_id): result for result in results}.values()
        ]
    )
