"""Permission to write: which topics of a produce request are refused before anything is looked up in them."""

from collections.abc import Mapping

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.log_dirs.hosted import TopicKey
from tidelog.broker.requests.context import Context
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.wire.messages.produce import ProduceRequest

FIRST_BY_ID = 13

RefusedTopics = Mapping[TopicKey, KafkaError]

_NONE: RefusedTopics = {}


def topics_not_writable(context: Context, request: ProduceRequest) -> RefusedTopics:
    """All of them, if the client may not use the transactional id."""
    if context.services.authorizer is None:
        return _NONE
    by_id = context.version >= FIRST_BY_ID
    keys: list[TopicKey] = [topic.topic_id if by_id else topic.name for topic in request.topic_data]
    transactional_id = request.transactional_id
    if transactional_id is not None and not context.allows(
        Operation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id
    ):
        return dict.fromkeys(keys, KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
    refused: dict[TopicKey, KafkaError] = {}
    for key in keys:
        name = name_of(context, key)
        if name is None:
            refused[key] = KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
        elif not context.allows(Operation.WRITE, ResourceType.TOPIC, name):
            refused[key] = KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    return refused


def name_of(context: Context, key: TopicKey) -> str | None:
    """None for an id that the metadata do not know: its log may still be open, but it is not to be used."""
    if isinstance(key, str):
        return key
    topic = context.services.metadata.image.topic_by_id(key)
    return None if topic is None else topic.name
