"""The consumer: `poll` hands out lists of messages; iterating over it hands them out one by one, for ever."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, Generic, Self, overload

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END

from tidelog.clients.consumer.config import ConsumerConfig
from tidelog.clients.consumer.core import ConsumerCore
from tidelog.clients.consumer.offsets import ConsumerOffsets, ToCommit
from tidelog.clients.consumer.positions import Positions
from tidelog.clients.consumer.rebalance import PartitionsCallback, RebalanceListener
from tidelog.clients.records import Key, Message, OffsetAndMetadata, TopicPartition, Value
from tidelog.clients.serializers import Deserializer, bytes_deserializer
from tidelog.clients.timestamps import milliseconds


class Consumer(Generic[Key, Value]):
    """Reads messages from topics.

    `poll` hands out lists of messages; iterating over the consumer hands them out one by one, for ever.
    With `subscribe` the consumers of a group share the partitions, with `assign` the application chooses
    them. Use a consumer from one thread at a time, and handle what a `poll` gave before the next one:
    auto-commit relies on it.

    Example:
        from tidelog import Consumer, ConsumerConfig, OffsetResetPolicy, Producer, ProducerConfig
        from tidelog import text_deserializer

        with Producer(ProducerConfig(bootstrap_servers=["localhost:9092"])) as producer:
            producer.send("events", "Hello")

        config = ConsumerConfig(
            bootstrap_servers=["localhost:9092"],
            group_id="readers",
            auto_offset_reset=OffsetResetPolicy.EARLIEST,
        )
        with Consumer(config, value_deserializer=text_deserializer) as consumer:
            consumer.subscribe(["events"])
            for message in consumer:
                print(message.topic_partition, message.offset, message.value)
                break

    Args:
        config: A `ConsumerConfig`, or a dict: `{"bootstrap.servers": "localhost:9092", "group.id": "g"}`.
        key_deserializer: Turns the bytes of keys into objects. Without one, keys are bytes.
        value_deserializer: Turns the bytes of values into objects. Without one, values are bytes.

    Attributes:
        config: The `ConsumerConfig`.
    """

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
        """Share these topics with the other consumers of the group.

        The first `poll` joins the group. Listeners run within `poll` and `close`. What they raise comes out
        of `poll`.

        Example:
            from tidelog import Consumer, ConsumerConfig

            config = ConsumerConfig(
                bootstrap_servers=["localhost:9092"], group_id="audit", enable_auto_commit=False
            )
            with Consumer(config) as consumer:
                consumer.subscribe(["orders", "^invoices-.*"], on_revoke=lambda places: consumer.commit())
                print(consumer.assignment())

        Args:
            topics: Names of topics. A name that begins with `^` is a regular expression.
            on_assign: Called with partitions before their first message; `seek` and `pause` work there.
            on_revoke: Called with partitions before they are given up: the place for a last commit.
            on_lost: Called with partitions that others may read already, so that no commit is possible.
                Without it, `on_revoke` is called.

        Raises:
            UsageError: The configuration has no `group_id`.
        """
        self._core.subscribe(topics, RebalanceListener(on_assign, on_revoke, on_lost))

    def unsubscribe(self) -> None:
        """Leave the group, and read nothing until the next `subscribe` or `assign`."""
        self._core.unsubscribe()

    def assign(self, places: Iterable[TopicPartition] | Mapping[TopicPartition, int | None]) -> None:
        """Read exactly these partitions, without sharing them with a group.

        Args:
            places: Partitions, which begin where the group or `auto_offset_reset` says; or a mapping of
                partitions to the offsets to begin at.
        """
        self._core.assign(places)

    def assignment(self) -> list[TopicPartition]:
        """The partitions that this consumer reads now."""
        return self._core.assignment()

    # Reading

    def poll(self, timeout_ms: int = 1000, *, max_records: int | None = None) -> list[Message[Key, Value]]:
        """Returns the messages that are there, or the first that arrive within the timeout.

        Calling it again says that the messages of the last call are handled: that is what auto-commit
        commits.

        Args:
            timeout_ms: How long to wait for a message.
            max_records: The most messages to return; `max_poll_records` is the limit.

        Returns:
            The messages, in the order of each partition; an empty list if none came.

        Raises:
            DeserializationError: A message cannot be read. The next call continues behind it.
            OffsetOutOfRange: The requested offset is gone, and `auto_offset_reset` is `NONE`.
            ConnectionFailed: No broker was reached within `request_timeout_ms`, and none ever before.
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
        """Messages one by one, for ever. Asking for the next message marks the last as handled."""
        while not self._core.closed:
            yield from self.poll(max_records=1)

    # Committing

    def commit(self, what: ToCommit = None, *, wait: bool = True) -> dict[TopicPartition, int]:
        """Commit the offsets of handled messages: the group continues there after a restart.

        Args:
            what: A message, which commits it and all before it in its partition; or a mapping of partitions
                to the next offset to read. None: all delivered messages.
            wait: False commits in the background, and logs a failure.

        Returns:
            The offsets that were committed.

        Raises:
            CommitRefused: The partitions went to another consumer.
        """
        return self._offsets.commit(what, wait=wait)

    def committed(self, place: TopicPartition) -> int | None:
        """The offset that the group has committed: the next message that it reads after a restart.

        Args:
            place: The partition.

        Returns:
            The offset, or None if there is none.
        """
        return self._offsets.committed([place]).get(place)

    def handed_out(self) -> dict[TopicPartition, int]:
        """What `commit()` would commit now: the next offset of each partition."""
        return self._core.positions.uncommitted()

    def offsets_to_commit(
        self, what: ToCommit = None
    ) -> tuple[Mapping[TopicPartition, int | OffsetAndMetadata], Any]:
        """For a transaction: what it is to commit, and librdkafka's description of this member.

        Args:
            what: As for `commit`.
        """
        return self._offsets.to_commit_elsewhere(what)

    @property
    def positions(self) -> Positions:
        """How far the application has come; transactions note here what they have committed."""
        return self._core.positions

    # Moving

    def position(self, place: TopicPartition) -> int:
        """The offset of the next message to deliver.

        Args:
            place: An assigned partition.
        """
        return self._offsets.position(place)

    def seek(self, place: TopicPartition, offset: int) -> None:
        """Continue at this offset. It works within `on_assign` too.

        Args:
            place: An assigned partition.
            offset: The offset of the next message to deliver.
        """
        self._core.seek(place, offset)

    def rewind(self) -> dict[TopicPartition, int]:
        """Deliver uncommitted messages again, as after an aborted transaction.

        Returns:
            The next offset to read, by partition.
        """
        return self._offsets.rewind()

    def seek_to_beginning(self, *places: TopicPartition) -> None:
        """Go to the oldest message.

        Args:
            places: Partitions; all assigned ones, if none is given.
        """
        for place in places or self.assignment():
            self._core.seek(place, OFFSET_BEGINNING)

    def seek_to_end(self, *places: TopicPartition) -> None:
        """Go behind the newest message, so that only messages from now on are read.

        Args:
            places: Partitions; all assigned ones, if none is given.
        """
        for place in places or self.assignment():
            self._core.seek(place, OFFSET_END)

    def seek_to_time(self, time: int | datetime, *places: TopicPartition) -> None:
        """Go to the first message at or after a time, or to the end if there is none.

        Args:
            time: A `datetime`, or milliseconds since 1970.
            places: Partitions; all assigned ones, if none is given.
        """
        found = self._offsets.offsets_at(milliseconds(time), places or self.assignment())
        for place, offset in found.items():
            self._core.seek(place, OFFSET_END if offset is None else offset)

    def watermarks(self, place: TopicPartition) -> tuple[int, int]:
        """The oldest offset in the log, and the offset that the next record will get.

        Args:
            place: A partition, assigned or not.
        """
        return self._offsets.watermarks(place)

    def lag(self) -> dict[TopicPartition, int]:
        """The number of undelivered messages in each assigned partition."""
        return self._offsets.lag()

    # Pausing

    def pause(self, *places: TopicPartition) -> None:
        """Deliver nothing from these partitions while polling keeps the membership in the group.

        Args:
            places: Partitions; all assigned ones, if none is given.
        """
        self._core.pause(places or self.assignment())

    def resume(self, *places: TopicPartition) -> None:
        """Resume paused partitions where they stopped.

        Args:
            places: Partitions; all paused ones, if none is given.
        """
        self._core.resume(places or self._core.intake.paused)

    def paused(self) -> frozenset[TopicPartition]:
        """The partitions that are paused."""
        return self._core.intake.paused

    # Ending

    def close(self) -> None:
        """Commit handled messages (with auto-commit), leave the group, and end."""
        self._core.close(handled=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A block that raised did not handle its last messages: they are to come again.
        self._core.close(handled=kind is None)
