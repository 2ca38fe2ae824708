"""Confluent's own serializers in our clients: they want to know the topic, the field and the headers."""

from collections.abc import Callable, Iterable
from typing import Any

from confluent_kafka.serialization import Deserializer as ConfluentDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from confluent_kafka.serialization import Serializer as ConfluentSerializer

from tidelog.clients.serializers import HeaderDeserializer, HeaderList, TopicSerializer


class _Serializer(TopicSerializer):
    def __init__(self, theirs: Any) -> None:
        self._theirs = theirs

    def serialize_for(self, topic: str, is_key: bool, value: Any, headers: HeaderList | None = None) -> bytes:
        pairs: Any = headers  # theirs may hold text, too
        context = SerializationContext(topic, MessageField.KEY if is_key else MessageField.VALUE, pairs)
        return self._theirs(value, context)  # type: ignore[no-any-return]


class _Deserializer(HeaderDeserializer):
    def __init__(self, theirs: Any) -> None:
        self._theirs = theirs

    def deserialize_with(
        self, topic: str, headers: Iterable[tuple[str, bytes | None]], is_key: bool, data: bytes
    ) -> Any:
        field = MessageField.KEY if is_key else MessageField.VALUE
        return self._theirs(data, SerializationContext(topic, field, list(headers)))


def own_serializer(serializer: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    """One of Confluent's serializers as one of ours; any other as it is."""
    return _Serializer(serializer) if isinstance(serializer, ConfluentSerializer) else serializer


def own_deserializer(deserializer: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    return _Deserializer(deserializer) if isinstance(deserializer, ConfluentDeserializer) else deserializer
