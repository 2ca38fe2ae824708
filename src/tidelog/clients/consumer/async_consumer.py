"""The consumer for asyncio: `async for message in consumer`, fed by a thread through a bounded buffer."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Any, Generic, Self, overload

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END

from tidelog.clients.consumer.config import ConsumerConfig
from tidelog.clients.consumer.core import ConsumerCore
from tidelog.clients.consumer.offsets import ConsumerOffsets, ToCommit
from tidelog.clients.consumer.positions import Positions
from tidelog.clients.consumer.rebalance import AsyncPartitionsCallback, RebalanceListener
from tidelog.clients.consumer.thread import ConsumerThread
from tidelog.clients.records import Key, Message, OffsetAndMetadata, TopicPartition, Value
from tidelog.clients.serializers import Deserializer, bytes_deserializer
from tidelog.clients.timestamps import milliseconds


class AsyncConsumer(Generic[Key, Value]):
    """Reads messages from topics, from asyncio.

    `async for message in consumer` hands them out one by one, `await poll()` in lists. A thread of its own
    fetches into a buffer of `buffer_records` messages, and stops while the application falls behind. Make
    the consumer where the loop runs, and use it on that loop only. Deserializers run on the consumer's
    thread.

    Example:
        import asyncio

        from tidelog import (
            AsyncConsumer,
            AsyncProducer,
            ConsumerConfig,
            OffsetResetPolicy,
            ProducerConfig,
            TopicPartition,
        )

        async def main():
            async with AsyncProducer(ProducerConfig(bootstrap_servers=["localhost:9092"])) as producer:
                await producer.send("ticks", "one", partition=0)

            config = ConsumerConfig(
                bootstrap_servers=["localhost:9092"], auto_offset_reset=OffsetResetPolicy.EARLIEST
            )
            async with AsyncConsumer(config) as consumer:
                await consumer.assign([TopicPartition("ticks", 0)])
                async for message in consumer:
                    print(message.offset, message.value)
                    break

        asyncio.run(main())

    Args:
        config: A `ConsumerConfig`, or a dict: `{"bootstrap.servers": "localhost:9092", "group.id": "g"}`.
        key_deserializer: Turns the bytes of keys into objects. Without one, keys are bytes.
        value_deserializer: Turns the bytes of values into objects. Without one, values are bytes.

    Attributes:
        config: The `ConsumerConfig`.
    """

    @overload
    def __init__(self: "AsyncConsumer[bytes, bytes]", config: ConsumerConfig | Mapping[str, Any]) -> None: ...
    @overload
    def __init__(
        self: "AsyncConsumer[Key, bytes]",
        config: ConsumerConfig | Mapping[str, Any],
        *,
        key_deserializer: Deserializer[Key],
    ) -> None: ...
    @overload
    def __init__(
        self: "AsyncConsumer[bytes, Value]",
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
        self._thread = ConsumerThread(self._core, asyncio.get_running_loop())

    # Which partitions

    async def subscribe(
        self,
        topics: Iterable[str],
        *,
        on_assign: AsyncPartitionsCallback | None = None,
        on_revoke: AsyncPartitionsCallback | None = None,
        on_lost: AsyncPartitionsCallback | None = None,
    ) -> None:
        """Share these topics with the other consumers of the group.

        The first `poll` joins the group. Listeners may be coroutines; they run on the loop, and may await
        methods of the consumer. `poll` raises their exceptions.

        Args:
            topics: Names of topics. A name that begins with `^` is a regular expression.
            on_assign: Called with partitions before their first message; `seek` and `pause` work there.
            on_revoke: Called with partitions before they are given up: the place for a last commit.
            on_lost: Called with partitions that others may read already, so that no commit is possible.
                Without it, `on_revoke` is called.

        Raises:
            UsageError: The configuration has no `group_id`.
        """
        bridge = self._thread.bridge
        listener = RebalanceListener(bridge(on_assign), bridge(on_revoke), bridge(on_lost))
        await self._thread.call(partial(self._core.subscribe, topics, listener))

    async def unsubscribe(self) -> None:
        """Leave the group, and read nothing until the next `subscribe` or `assign`."""
        await self._thread.call(self._core.unsubscribe)

    async def assign(self, places: Iterable[TopicPartition] | Mapping[TopicPartition, int | None]) -> None:
        """Read exactly these partitions, without sharing them with a group.

        Args:
            places: Partitions, which begin where the group or `auto_offset_reset` says; or a mapping of
                partitions to the offsets to begin at.
        """
        await self._thread.call(partial(self._core.assign, places))

    async def assignment(self) -> list[TopicPartition]:
        """The partitions that this consumer reads now."""
        return await self._thread.call(self._core.assignment)

    # Reading

    async def poll(
        self, timeout_ms: int = 1000, *, max_records: int | None = None
    ) -> list[Message[Key, Value]]:
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
        limit = min(max_records or self.config.max_poll_records, self.config.max_poll_records)
        messages = self._take(limit)
        if not messages and timeout_ms > 0:
            await self._thread.messages.wait(timeout_ms / 1000)
            messages = self._take(limit)
        return messages

    async def __aiter__(self) -> AsyncIterator[Message[Key, Value]]:
        """Messages one by one, for ever. Asking for the next message marks the last as handled."""
        while not self._core.closed:
            for message in self._take(1):
                yield message
            if not len(self._thread.messages):
                self._core.positions.all_handled()
                await self._thread.messages.wait(None)

    def _take(self, limit: int) -> list[Message[Key, Value]]:
        self._core.positions.all_handled()
        self._core.check_open()
        messages = self._thread.messages.take(limit)
        for message in messages:
            self._core.positions.hand_out(message.topic_partition, message.offset)
        return messages

    def buffered(self) -> int:
        """The number of messages in the buffer; never more than `buffer_records`."""
        return len(self._thread.messages)

    # Committing

    async def commit(self, what: ToCommit = None, *, wait: bool = True) -> dict[TopicPartition, int]:
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
        return await self._thread.call(partial(self._offsets.commit, what, wait=wait))

    async def committed(self, place: TopicPartition) -> int | None:
        """The offset that the group has committed: the next message that it reads after a restart.

        Args:
            place: The partition.

        Returns:
            The offset, or None if there is none.
        """
        return (await self._thread.call(partial(self._offsets.committed, [place]))).get(place)

    async def offsets_to_commit(
        self, what: ToCommit = None
    ) -> tuple[Mapping[TopicPartition, int | OffsetAndMetadata], Any]:
        """For a transaction: what it is to commit, and librdkafka's description of this member.

        Args:
            what: As for `commit`.
        """
        return await self._thread.call(partial(self._offsets.to_commit_elsewhere, what))

    @property
    def positions(self) -> Positions:
        """How far the application has come; transactions note here what they have committed."""
        return self._core.positions

    # Moving

    async def position(self, place: TopicPartition) -> int:
        """The offset of the next message to deliver.

        Args:
            place: An assigned partition.
        """
        return await self._thread.call(partial(self._offsets.position, place))

    async def seek(self, place: TopicPartition, offset: int) -> None:
        """Continue at this offset. It works within `on_assign` too.

        Args:
            place: An assigned partition.
            offset: The offset of the next message to deliver.
        """
        await self._thread.call(partial(self._core.seek, place, offset))

    async def rewind(self) -> dict[TopicPartition, int]:
        """Deliver uncommitted messages again, as after an aborted transaction.

        Returns:
            The next offset to read, by partition.
        """
        return await self._thread.call(self._offsets.rewind)

    async def seek_to_beginning(self, *places: TopicPartition) -> None:
        """Go to the oldest message.

        Args:
            places: Partitions; all assigned ones, if none is given.
        """
        for place in places or await self.assignment():
            await self.seek(place, OFFSET_BEGINNING)

    async def seek_to_end(self, *places: TopicPartition) -> None:
        """Go behind the newest message, so that only messages from now on are read.

        Args:
            places: Partitions; all assigned ones, if none is given.
        """
        for place in places or await self.assignment():
            await self.seek(place, OFFSET_END)

    async def seek_to_time(self, time: int | datetime, *places: TopicPartition) -> None:
        """Go to the first message at or after a time, or to the end if there is none.

        Args:
            time: A `datetime`, or milliseconds since 1970.
            places: Partitions; all assigned ones, if none is given.
        """
        chosen = places or await self.assignment()
        found = await self._thread.call(partial(self._offsets.offsets_at, milliseconds(time), chosen))
        for place, offset in found.items():
            await self.seek(place, OFFSET_END if offset is None else offset)

    async def watermarks(self, place: TopicPartition) -> tuple[int, int]:
        """The oldest offset in the log, and the offset that the next record will get.

        Args:
            place: A partition, assigned or not.
        """
        return await self._thread.call(partial(self._offsets.watermarks, place))

    async def lag(self) -> dict[TopicPartition, int]:
        """The number of undelivered messages in each assigned partition."""
        return await self._thread.call(self._offsets.lag)

    # Pausing

    async def pause(self, *places: TopicPartition) -> None:
        """Deliver nothing from these partitions beyond the buffer, while polling keeps the membership
        in the group.

        Args:
            places: Partitions; all assigned ones, if none is given.
        """
        await self._thread.call(lambda: self._core.pause(places or self._core.assignment()))

    async def resume(self, *places: TopicPartition) -> None:
        """Resume paused partitions where they stopped.

        Args:
            places: Partitions; all paused ones, if none is given.
        """
        await self._thread.call(lambda: self._core.resume(places or self._core.intake.paused))

    def paused(self) -> frozenset[TopicPartition]:
        """The partitions that are paused."""
        return self._core.intake.paused

    # Ending

    async def close(self) -> None:
        """Commit handled messages (with auto-commit), leave the group, and end."""
        await self._thread.stop(handled=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A block that raised did not handle its last messages: they are to come again.
        await self._thread.stop(handled=kind is None)

    def __del__(self) -> None:
        thread = getattr(self, "_thread", None)
        if thread is not None:
            thread.abandon()
