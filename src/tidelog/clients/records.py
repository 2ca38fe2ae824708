"""What goes in and out of the clients: places, messages and receipts. Plain immutable values."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Generic, NamedTuple, TypeAlias, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

Data: TypeAlias = bytes | str
"""What can be sent without a serializer: bytes as they are, text as UTF-8."""

HeaderValue: TypeAlias = bytes | str | None
Headers: TypeAlias = Mapping[str, HeaderValue] | Sequence[tuple[str, HeaderValue]]
"""A mapping, or pairs where a name may come twice."""


class TimestampType(Enum):
    """The clock of a message's timestamp.

    Attributes:
        NOT_AVAILABLE: The message has no time.
        CREATE_TIME: The producer's, or the time that the application gave.
        LOG_APPEND_TIME: The broker's, where the topic has `message.timestamp.type=LogAppendTime`.
    """

    NOT_AVAILABLE = 0
    CREATE_TIME = 1
    LOG_APPEND_TIME = 2


class TopicPartition(NamedTuple):
    """A partition of a topic. It prints as `orders[0]`.

    Attributes:
        topic: The name of the topic.
        partition: The number of the partition, from 0.
    """

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}[{self.partition}]"


class OffsetAndMetadata(NamedTuple):
    """A committed offset with a note beside it, for `Consumer.commit` and `Admin.set_group_offsets`.

    Attributes:
        offset: The offset of the next message to read.
        metadata: Any short text; the broker keeps it with the offset.
    """

    offset: int
    metadata: str = ""


def plain_offset(position: int | OffsetAndMetadata) -> int:
    return position.offset if isinstance(position, OffsetAndMetadata) else position


class Receipt(NamedTuple):
    """The position of a written record: the result of a producer's `send`.

    Attributes:
        topic: The topic.
        partition: The partition that the key, or the caller, chose.
        offset: The record's offset; None with `AckMode.NONE`, where no broker tells.
        timestamp: Its time in milliseconds since 1970; None where unknown.
    """

    topic: str
    partition: int
    offset: int | None
    timestamp: int | None

    @property
    def topic_partition(self) -> TopicPartition:
        """Topic and partition together."""
        return TopicPartition(self.topic, self.partition)


class Message(NamedTuple, Generic[Key, Value]):
    """A record as a consumer delivers it.

    Attributes:
        topic: The topic that it was read from.
        partition: The partition that it was read from.
        offset: Its offset in that partition.
        timestamp: Its time in milliseconds since 1970; None where it has none.
        timestamp_type: Which clock that time comes from.
        key: The key, as the key deserializer made it; None where it has none.
        value: The value, as the value deserializer made it; None for a tombstone.
        headers: Names and values in the order in which they were sent. A name may come twice.
        leader_epoch: The term of the leader that it was read from; None where unknown.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    timestamp_type: TimestampType
    key: Key | None
    value: Value | None
    headers: tuple[tuple[str, bytes | None], ...]
    leader_epoch: int | None

    @property
    def topic_partition(self) -> TopicPartition:
        """Topic and partition together."""
        return TopicPartition(self.topic, self.partition)

    def header(self, name: str) -> bytes | None:
        """The value of the last header of this name, or None if there is none.

        Args:
            name: The header.
        """
        for each, value in reversed(self.headers):
            if each == name:
                return value
        return None
