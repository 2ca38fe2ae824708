"""DeleteShareGroupOffsets (KIP-932): a group without members forgets where it is in topics."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Uuid
from tidelog.broker.handlers.group_states import group_states_of
from tidelog.broker.handlers.shares.served import check_offered
from tidelog.broker.requests.context import Context
from tidelog.groups.share.offsets import DeleteAnswer
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)


async def handle(
    context: Context, request: DeleteShareGroupOffsetsRequest
) -> DeleteShareGroupOffsetsResponse:
    topics: dict[str, DeleteShareGroupOffsetsResponseTopic] = {}
    try:
        check_offered(context.services)
        if not context.allows(Operation.DELETE, ResourceType.GROUP, request.group_id):
            raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
        for name in dict.fromkeys(topic.topic_name for topic in request.topics):
            if not context.allows(Operation.READ, ResourceType.TOPIC, name):
                topics[name] = _topic(name, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        allowed = [topic.topic_name for topic in request.topics if topic.topic_name not in topics]
        answer = await _begin(context, request.group_id, allowed)
    except KafkaError as refusal:
        return DeleteShareGroupOffsetsResponse(error_code=refusal.code, error_message=refusal.message)
    if answer.error:
        return DeleteShareGroupOffsetsResponse(error_code=answer.error, error_message=answer.error_message)
    for unknown in answer.unknown:
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        topics[unknown.topic_name] = _topic(unknown.topic_name, error, unknown.error_message)
    for topic_id, error in (await _delete(context, answer)).items():
        topic = context.services.metadata.image.topic_by_id(topic_id)
        if topic is not None:
            topics[topic.name] = _topic(topic.name, error, topic_id=topic_id)
    return DeleteShareGroupOffsetsResponse(responses=list(topics.values()))


async def _begin(context: Context, group_id: str, topics: list[str]) -> DeleteAnswer:
    served = context.services.groups.of(group_id)
    decision = served.shard.delete_share_offsets(group_id, topics, *served.now)
    return await served.run(decision, lambda answer: answer)


async def _delete(context: Context, answer: DeleteAnswer) -> dict[Uuid, ErrorCode]:
    """The first error of each topic."""
    if answer.to_delete is None:
        return {}
    results: dict[Uuid, ErrorCode] = dict.fromkeys(answer.to_delete.partitions, ErrorCode.NONE)
    try:
        errors = await group_states_of(context.services).delete(answer.to_delete)
    except KafkaError as refusal:
        return dict.fromkeys(results, refusal.code)
    for (topic_id, _), error in errors.items():
        results[topic_id] = results[topic_id] or error
    return results


def _topic(
    name: str, error: ErrorCode, message: str | None = None, topic_id: Uuid = bytes(16)
) -> DeleteShareGroupOffsetsResponseTopic:
    return DeleteShareGroupOffsetsResponseTopic(
        topic_name=name,
        topic_id=topic_id,
        error_code=error,
        error_message=message or (error.text if error else None),
    )
