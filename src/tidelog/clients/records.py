"""What goes in and out of the clients: places, messages and receipts. Plain immutable values."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Generic, NamedTuple, TypeAlias, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

Data: TypeAlias = bytes | str
"""What can be sent without a serializer of one's own: bytes as they are, text as UTF-8."""

HeaderValue: TypeAlias = bytes | str | None
Headers: TypeAlias = Mapping[str, HeaderValue] | Sequence[tuple[str, HeaderValue]]
"""A mapping, or pairs where a name may come twice."""


class TimestampType(Enum):
    NOT_AVAILABLE = 0
    CREATE_TIME = 1
    """Set by the producer."""
    LOG_APPEND_TIME = 2
    """Set by the broker."""


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}[{self.partition}]"


class OffsetAndMetadata(NamedTuple):
    """A committed offset with a text of one's own beside it."""

    offset: int
    metadata: str = ""


def plain_offset(position: int | OffsetAndMetadata) -> int:
    return position.offset if isinstance(position, OffsetAndMetadata) else position


class Receipt(NamedTuple):
    """Where a record landed."""

    topic: str
    partition: int
    offset: int | None
    """None with AckMode.NONE: nobody said."""
    timestamp: int | None
    """Milliseconds since 1970; None where unknown."""

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


class Message(NamedTuple, Generic[Key, Value]):
    topic: str
    partition: int
    offset: int
    timestamp: int | None
    """Milliseconds since 1970."""
    timestamp_type: TimestampType
    key: Key | None
    value: Value | None
    headers: tuple[tuple[str, bytes | None], ...]
    leader_epoch: int | None

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    def header(self, name: str) -> bytes | None:
        """The newest header of this name, as Kafka's own clients choose."""
        for each, value in reversed(self.headers):
            if each == name:
                return value
        return None
