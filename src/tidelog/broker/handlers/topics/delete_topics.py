"""DeleteTopics: by name, or from version 6 by id.

A client that may not describe a topic learns neither whether its name exists nor which name an id has.
"""

from collections import Counter
from collections.abc import Sequence

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import ZERO_UUID
from tidelog.broker.requests.context import Context
from tidelog.metadata.decision import Decision
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.topics.delete_topics import DeletedTopic, TopicToDelete, decide_delete_topics
from tidelog.security.acls.vocabulary import CLUSTER_NAME, Operation, ResourceType
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

    def decide(image: ClusterImage) -> Decision[DeletedTopic]:
        # With the image of the decision: an id that has no name before may have one in it.
        refused = _not_allowed(context, image, topics) if enabled else {}
        allowed = [topic for topic in topics if topic not in refused]
        decision = decide_delete_topics(
            image, allowed, enabled=enabled, charge=None if quota is None else quota.anew()
        )
        return Decision(decision.records, [*decision.results, *refused.values()])

    results = await services.metadata.change(decide)
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


def _not_allowed(
    context: Context, image: ClusterImage, topics: Sequence[TopicToDelete]
) -> dict[TopicToDelete, DeletedTopic]:
    if context.may(Operation.DELETE, ResourceType.CLUSTER, CLUSTER_NAME):
        return {}
    refused: dict[TopicToDelete, DeletedTopic] = {}
    for item, times in Counter(topics).items():
        if times > 1 or (item.name is None) == (item.topic_id == ZERO_UUID):
            continue  # invalid, with every permission
        by_id = image.topics_by_id.get(item.topic_id)
        name = item.name if by_id is None else by_id.name
        if name is None:
            continue  # an unknown id
        is_seen = context.may_see(ResourceType.TOPIC, name)
        if by_id is None and is_seen and name not in image.topics:
            continue  # unknown, and the client may know it
        is_deletable = context.allows(Operation.DELETE, ResourceType.TOPIC, name)
        if is_deletable and (is_seen or by_id is not None):
            continue
        error = KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        shown = name if is_seen or by_id is None else None
        refused[item] = DeletedTopic.refused(error, name=shown, topic_id=item.topic_id)
    return refused
