"""Objects to bytes and back. A serializer is any function of one argument; None always stays None.

None as a value is a tombstone: on a compacted topic it deletes the key.
"""

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

from tidelog.clients.errors import ConnectionFailed, DeserializationError, SerializationError
from tidelog.clients.records import Data, Headers, TopicPartition

Object = TypeVar("Object")

Serializer: TypeAlias = Callable[[Object], bytes]
HeaderList: TypeAlias = list[tuple[str, bytes | None]]
Deserializer: TypeAlias = Callable[[bytes], Object]


class NoRegistry(ConnectionFailed):
    """No schema registry answers. The record itself may be fine, so that a consumer does not pass over it."""

    cause = "the registry is down, or its URL is wrong."
    attempt = "check the URL with: tidelog schema list --registry URL"


class TopicSerializer:
    """A serializer that has to know the topic, and whether it writes a key: one with a schema.

    It is no `abc.ABC`: `isinstance` would take four times as long, for every record of every producer.
    """

    @abstractmethod
    def serialize_for(self, topic: str, is_key: bool, value: Any, headers: HeaderList | None = None) -> bytes:
        """The bytes of a key or value for this topic. It may add to the headers."""

    def __call__(self, value: Any) -> bytes:
        raise TypeError(
            "this serializer has to know the topic; give it to a producer, or call serialize_for(topic, …)"
        )


class HeaderDeserializer:
    """A deserializer that has to know the topic and the headers: a header may name the schema."""

    @abstractmethod
    def deserialize_with(
        self, topic: str, headers: Iterable[tuple[str, bytes | None]], is_key: bool, data: bytes
    ) -> Any:
        """What a key or value of a record says."""

    def __call__(self, data: bytes) -> Any:
        return self.deserialize_with("", (), False, data)


def data_serializer(data: Data) -> bytes:
    """The default: bytes as they are, text as UTF-8. Nothing else: no application wants to send a repr."""
    if isinstance(data, str):
        return data.encode()
    return bytes_serializer(data)


def bytes_serializer(data: bytes) -> bytes:
    """Bytes as they are; a `bytearray` or `memoryview` is copied.

    Example:
        from tidelog import Producer, ProducerConfig, bytes_serializer

        config = ProducerConfig(bootstrap_servers=["localhost:9092"])
        with Producer(config, value_serializer=bytes_serializer) as producer:
            producer.send("frames", bytearray(b"\\x00\\x01"))

    Args:
        data: The bytes.

    Raises:
        TypeError: It is something else; a producer turns that into `SerializationError`.
    """
    if isinstance(data, bytes):
        return data
    if isinstance(data, bytearray | memoryview):
        return bytes(data)
    raise TypeError(f"bytes are wanted, not {type(data).__name__}")


def text_serializer(text: str) -> bytes:
    """Text as UTF-8.

    Example:
        from tidelog import Producer, ProducerConfig, text_serializer

        config = ProducerConfig(bootstrap_servers=["localhost:9092"])
        with Producer(config, key_serializer=text_serializer, value_serializer=text_serializer) as producer:
            producer.send("words", "déjà vu", key="fr")

    Args:
        text: The text.

    Raises:
        TypeError: It is something else; a producer turns that into `SerializationError`.
    """
    if not isinstance(text, str):
        raise TypeError(f"str is wanted, not {type(text).__name__}")
    return text.encode()


def json_serializer(value: Any) -> bytes:
    """Anything that `json.dumps` takes as compact JSON in UTF-8.

    NaN and the infinities are refused: they are not JSON, and others could not read them.

    Example:
        from tidelog import Producer, ProducerConfig, json_serializer

        config = ProducerConfig(bootstrap_servers=["localhost:9092"])
        with Producer(config, value_serializer=json_serializer) as producer:
            producer.send("orders", {"number": 1, "item": "tea"})

    Args:
        value: The object.
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def bytes_deserializer(data: bytes) -> bytes:
    """Bytes as they are: the default of a consumer.

    Example:
        from tidelog import Consumer, ConsumerConfig, bytes_deserializer, json_deserializer

        config = ConsumerConfig(bootstrap_servers=["localhost:9092"])
        with Consumer(
            config, key_deserializer=bytes_deserializer, value_deserializer=json_deserializer
        ) as consumer:
            print(consumer.assignment())

    Args:
        data: The bytes.
    """
    return data


def text_deserializer(data: bytes) -> str:
    """UTF-8 to `str`. Other bytes raise, and the consumer turns that into `DeserializationError`.

    Example:
        from tidelog import Consumer, ConsumerConfig, TopicPartition, text_deserializer

        config = ConsumerConfig(bootstrap_servers=["localhost:9092"])
        with Consumer(config, value_deserializer=text_deserializer) as consumer:
            consumer.assign([TopicPartition("words", 0)])

    Args:
        data: The bytes.
    """
    return data.decode()


def json_deserializer(data: bytes) -> Any:
    """JSON to Python objects. Other bytes raise, and the consumer turns that into `DeserializationError`.

    Example:
        from tidelog import Consumer, ConsumerConfig, TopicPartition, json_deserializer

        config = ConsumerConfig(bootstrap_servers=["localhost:9092"])
        with Consumer(config, value_deserializer=json_deserializer) as consumer:
            consumer.assign([TopicPartition("orders", 0)])

    Args:
        data: The bytes.
    """
    return json.loads(data)


def serialize(
    serializer: Callable[[Any], bytes], value: Any, what: str, topic: str, headers: HeaderList | None = None
) -> bytes | None:
    if value is None:
        return None
    try:
        if isinstance(serializer, TopicSerializer):
            data = serializer.serialize_for(topic, what == "key", value, headers)
        else:
            data = serializer(value)
    except NoRegistry:
        raise
    except Exception as error:  # a user's function may raise anything
        said = f"The {what} for topic {topic!r}, a {type(value).__name__}, could not be made bytes: {error}."
        if isinstance(serializer, TopicSerializer):
            raise SerializationError(
                said,
                cause="it does not fit its schema, or the registry refused the schema.",
                attempt="compare the object with the schema; `tidelog schema list` shows what is registered.",
            ) from error
        raise SerializationError(said) from error
    if not isinstance(data, bytes):
        raise SerializationError(
            f"The {what} serializer for topic {topic!r} gave {type(data).__name__} instead of bytes.",
            cause="the function returns something else.",
            attempt="let it return bytes.",
        )
    return data


def serialize_headers(headers: Headers | None, topic: str) -> HeaderList:
    if not headers:
        return []
    pairs = headers.items() if hasattr(headers, "items") else headers
    return [(name, serialize(data_serializer, value, f"header {name!r}", topic)) for name, value in pairs]


def deserialize(
    deserializer: Callable[[bytes], Object],
    data: bytes | None,
    what: str,
    *,
    place: TopicPartition,
    offset: int,
    key: bytes | None,
    value: bytes | None,
    headers: Iterable[tuple[str, bytes | None]] = (),
) -> Object | None:
    if data is None:
        return None
    try:
        if isinstance(deserializer, HeaderDeserializer):
            read: Object = deserializer.deserialize_with(place.topic, headers, what == "key", data)
            return read
        return deserializer(data)
    except NoRegistry:
        raise
    except Exception as error:  # a user's function may raise anything
        raise DeserializationError(
            f"The {what} of the message at {place} offset {offset} could not be read: {error}.",
            place=place,
            offset=offset,
            key=key,
            value=value,
        ) from error
