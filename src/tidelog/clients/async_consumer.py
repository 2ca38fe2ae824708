"""The consumer for asyncio: `async for message in consumer`, fed by a thread through a bounded buffer."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Any, Generic, Self, overload

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END

from tidelog.clients.consumer_config import ConsumerConfig
from tidelog.clients.consumer_core import ConsumerCore
from tidelog.clients.consumer_offsets import ConsumerOffsets, ToCommit
from tidelog.clients.consumer_thread import ConsumerThread
from tidelog.clients.positions import Positions
from tidelog.clients.rebalance import AsyncPartitionsCallback, RebalanceListener
from tidelog.clients.records import Key, Message, OffsetAndMetadata, TopicPartition, Value
from tidelog.clients.sender import milliseconds
from tidelog.clients.serializers import Deserializer, bytes_deserializer


class AsyncConsumer(Generic[Key, Value]):
    """Make it where the loop runs, and use it on that loop. Deserializers run on the consumer's thread."""

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
        """Share these topics with the rest of the group. Listeners may be coroutines, and run on the loop."""
        bridge = self._thread.bridge
        listener = RebalanceListener(bridge(on_assign), bridge(on_revoke), bridge(on_lost))
        await self._thread.call(partial(self._core.subscribe, topics, listener))

    async def unsubscribe(self) -> None:
        await self._thread.call(self._core.unsubscribe)

    async def assign(self, places: Iterable[TopicPartition] | Mapping[TopicPartition, int | None]) -> None:
        """Read exactly these partitions; a mapping says from which offsets."""
        await self._thread.call(partial(self._core.assign, places))

    async def assignment(self) -> list[TopicPartition]:
        return await self._thread.call(self._core.assignment)

    # Reading

    async def poll(
        self, timeout_ms: int = 1000, *, max_records: int | None = None
    ) -> list[Message[Key, Value]]:
        """The messages that are there, or the first ones that come within the time; else an empty list."""
        limit = min(max_records or self.config.max_poll_records, self.config.max_poll_records)
        messages = self._take(limit)
        if not messages and timeout_ms > 0:
            await self._thread.handover.wait(timeout_ms / 1000)
            messages = self._take(limit)
        return messages

    async def __aiter__(self) -> AsyncIterator[Message[Key, Value]]:
        """Messages one by one, for ever. To ask for the next says that the last one is handled."""
        while not self._core.closed:
            for message in self._take(1):
                yield message
            if not len(self._thread.handover):
                self._core.positions.all_handled()
                await self._thread.handover.wait(None)

    def _take(self, limit: int) -> list[Message[Key, Value]]:
        self._core.positions.all_handled()
        self._core.check_open()
        messages = self._thread.handover.take(limit)
        for message in messages:
            self._core.positions.hand_out(message.topic_partition, message.offset)
        return messages

    def buffered(self) -> int:
        """Messages that wait in the buffer; never more than buffer_records."""
        return len(self._thread.handover)

    # Committing

    async def commit(self, what: ToCommit = None, *, wait: bool = True) -> dict[TopicPartition, int]:
        """Commit a message (and all before it), a mapping of next offsets, or all that was handed out."""
        return await self._thread.call(partial(self._offsets.commit, what, wait=wait))

    async def committed(self, place: TopicPartition) -> int | None:
        """The group's committed offset: the next message to read after a restart."""
        return (await self._thread.call(partial(self._offsets.committed, [place]))).get(place)

    async def offsets_to_commit(
        self, what: ToCommit = None
    ) -> tuple[Mapping[TopicPartition, int | OffsetAndMetadata], Any]:
        """For a transaction: the offsets, and librdkafka's description of this member of the group."""
        return await self._thread.call(partial(self._offsets.to_commit_elsewhere, what))

    @property
    def positions(self) -> Positions:
        """How far the application has come: transactions say here what they committed."""
        return self._core.positions

    # Moving

    async def position(self, place: TopicPartition) -> int:
        """The offset of the next message that will be handed out."""
        return await self._thread.call(partial(self._offsets.position, place))

    async def seek(self, place: TopicPartition, offset: int) -> None:
        """Go on at this offset; what is buffered of the partition is dropped. Works within on_assign too."""
        await self._thread.call(partial(self._core.seek, place, offset))

    async def rewind(self) -> dict[TopicPartition, int]:
        """Hand out again what was handed out and not committed, as after a transaction that was aborted."""
        return await self._thread.call(self._offsets.rewind)

    async def seek_to_beginning(self, *places: TopicPartition) -> None:
        """Of the given partitions, or of all that are assigned."""
        for place in places or await self.assignment():
            await self.seek(place, OFFSET_BEGINNING)

    async def seek_to_end(self, *places: TopicPartition) -> None:
        for place in places or await self.assignment():
            await self.seek(place, OFFSET_END)

    async def seek_to_time(self, time: int | datetime, *places: TopicPartition) -> None:
        """To the first message at or after a time; to the end where there is none."""
        chosen = places or await self.assignment()
        found = await self._thread.call(partial(self._offsets.offsets_at, milliseconds(time), chosen))
        for place, offset in found.items():
            await self.seek(place, OFFSET_END if offset is None else offset)

    async def watermarks(self, place: TopicPartition) -> tuple[int, int]:
        """The first offset in the log, and the one that the next record will get."""
        return await self._thread.call(partial(self._offsets.watermarks, place))

    async def lag(self) -> dict[TopicPartition, int]:
        """How many messages wait in the log, per assigned partition."""
        return await self._thread.call(self._offsets.lag)

    # Pausing

    async def pause(self, *places: TopicPartition) -> None:
        """Fetch nothing of these partitions (or of all); what is buffered already still comes."""
        await self._thread.call(lambda: self._core.pause(places or self._core.assignment()))

    async def resume(self, *places: TopicPartition) -> None:
        await self._thread.call(lambda: self._core.resume(places or self._core.intake.paused))

    def paused(self) -> frozenset[TopicPartition]:
        return self._core.intake.paused

    # Ending

    async def close(self) -> None:
        """Commit what was handled (with auto-commit), leave the group, end."""
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
