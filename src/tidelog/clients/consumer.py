"""The consumer: `poll` hands out lists of messages; iterating over it hands them out one by one, for ever."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, Generic, Self, overload

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END

from tidelog.clients.consumer_config import ConsumerConfig
from tidelog.clients.consumer_core import ConsumerCore
from tidelog.clients.consumer_offsets import ConsumerOffsets, ToCommit
from tidelog.clients.positions import Positions
from tidelog.clients.rebalance import PartitionsCallback, RebalanceListener
from tidelog.clients.records import Key, Message, OffsetAndMetadata, TopicPartition, Value
from tidelog.clients.sender import milliseconds
from tidelog.clients.serializers import Deserializer, bytes_deserializer


class Consumer(Generic[Key, Value]):
    """For one thread at a time. Handle what a poll gave before the next one: auto-commit relies on it."""

    @overload
    def __init__(self: "Consumer[bytes, bytes]", config: ConsumerConfig | Mapping[str, Any]) -> None: ...
    @overload
    def __init__(
        self: "Consumer[Key, bytes]",
        config: ConsumerConfig | Mapping[str, Any],
        *,
        key_deserializer: Deserializer[Key],
    ) -> None: ...
    @overload
    def __init__(
        self: "Consumer[bytes, Value]",
        config: ConsumerConfig | Mapping[str, Any],
        *,
        value_deserializer: Deserializer[Value],
    ) -> None: ...
    @overload
    def __init__(
        self,
        config: ConsumerConfig | Mapping[str, Any],
        *,
        key_deserializer: Deserializer[Key],
        value_deserializer: Deserializer[Value],
    ) -> None: ...
    def __init__(
        self,
        config: ConsumerConfig | Mapping[str, Any],
        *,
        key_deserializer: Callable[[bytes], Any] = bytes_deserializer,
        value_deserializer: Callable[[bytes], Any] = bytes_deserializer,
    ) -> None:
        self.config = ConsumerConfig.of(config)
        self._core = ConsumerCore(self.config, key_deserializer, value_deserializer)
        self._offsets = ConsumerOffsets(self._core)

    # Which partitions

    def subscribe(
        self,
        topics: Iterable[str],
        *,
        on_assign: PartitionsCallback | None = None,
        on_revoke: PartitionsCallback | None = None,
        on_lost: PartitionsCallback | None = None,
    ) -> None:
        """Share these topics with the rest of the group. A name that begins with ^ is a pattern."""
        self._core.subscribe(topics, RebalanceListener(on_assign, on_revoke, on_lost))

    def unsubscribe(self) -> None:
        self._core.unsubscribe()

    def assign(self, places: Iterable[TopicPartition] | Mapping[TopicPartition, int | None]) -> None:
        """Read exactly these partitions; a mapping says from which offsets."""
        self._core.assign(places)

    def assignment(self) -> list[TopicPartition]:
        return self._core.assignment()

    # Reading

    def poll(self, timeout_ms: int = 1000, *, max_records: int | None = None) -> list[Message[Key, Value]]:
        """The messages that are there, or the first ones that come within the time; else an empty list.

        To call it again says that the messages of the last call are handled.
        """
        self._core.positions.all_handled()
        most = self.config.max_poll_records
        messages = self._core.take(timeout_ms / 1000, min(max_records or most, most), fetch=most)
        if not messages:
            self._core.first_contact.check()
        for message in messages:
            self._core.positions.hand_out(message.topic_partition, message.offset)
        return messages

    def __iter__(self) -> Iterator[Message[Key, Value]]:
        """Messages one by one, for ever; `break` or close() ends it."""
        while not self._core.closed:
            yield from self.poll(max_records=1)

    # Committing

    def commit(self, what: ToCommit = None, *, wait: bool = True) -> dict[TopicPartition, int]:
        """Commit a message (and all before it), a mapping of next offsets, or all that was handed out.

        With `wait=False` it happens in the background; a failure is logged.
        """
        return self._offsets.commit(what, wait=wait)

    def committed(self, place: TopicPartition) -> int | None:
        """The group's committed offset: the next message to read after a restart."""
        return self._offsets.committed([place]).get(place)

    def handed_out(self) -> dict[TopicPartition, int]:
        """What commit() would commit now."""
        return self._core.positions.uncommitted()

    def offsets_to_commit(
        self, what: ToCommit = None
    ) -> tuple[Mapping[TopicPartition, int | OffsetAndMetadata], Any]:
        """For a transaction: the offsets, and librdkafka's description of this member of the group."""
        return self._offsets.to_commit_elsewhere(what)

    @property
    def positions(self) -> Positions:
        """How far the application has come: transactions say here what they committed."""
        return self._core.positions

    # Moving

    def position(self, place: TopicPartition) -> int:
        """The offset of the next message that will be handed out."""
        return self._offsets.position(place)

    def seek(self, place: TopicPartition, offset: int) -> None:
        """Go on at this offset. Works within on_assign too."""
        self._core.seek(place, offset)

    def rewind(self) -> dict[TopicPartition, int]:
        """Hand out again what was handed out and not committed, as after a transaction that was aborted."""
        return self._offsets.rewind()

    def seek_to_beginning(self, *places: TopicPartition) -> None:
        """Of the given partitions, or of all that are assigned."""
        for place in places or self.assignment():
            self._core.seek(place, OFFSET_BEGINNING)

    def seek_to_end(self, *places: TopicPartition) -> None:
        for place in places or self.assignment():
            self._core.seek(place, OFFSET_END)

    def seek_to_time(self, time: int | datetime, *places: TopicPartition) -> None:
        """To the first message at or after a time; to the end where there is none."""
        found = self._offsets.offsets_at(milliseconds(time), places or self.assignment())
        for place, offset in found.items():
            self._core.seek(place, OFFSET_END if offset is None else offset)

    def watermarks(self, place: TopicPartition) -> tuple[int, int]:
        """The first offset in the log, and the one that the next record will get."""
        return self._offsets.watermarks(place)

    def lag(self) -> dict[TopicPartition, int]:
        """How many messages wait in the log, per assigned partition."""
        return self._offsets.lag()

    # Pausing

    def pause(self, *places: TopicPartition) -> None:
        """Hand out nothing of these partitions (or of all), while polling keeps the group membership."""
        self._core.pause(places or self.assignment())

    def resume(self, *places: TopicPartition) -> None:
        self._core.resume(places or self._core.intake.paused)

    def paused(self) -> frozenset[TopicPartition]:
        return self._core.intake.paused

    # Ending

    def close(self) -> None:
        """Commit what was handled (with auto-commit), leave the group, end."""
        self._core.close(handled=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A block that raised did not handle its last messages: they are to come again.
        self._core.close(handled=kind is None)
