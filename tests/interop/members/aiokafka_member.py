"""A member on aiokafka; all of them share one event loop."""

import asyncio
import threading
from typing import Any

import aiokafka.errors
from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, OffsetAndMetadata, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

from tests.interop.driver import Refused

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}
LOOP = asyncio.new_event_loop()
threading.Thread(target=LOOP.run_forever, daemon=True).start()


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, notes: Any) -> None:
        self._notes = notes

    def on_partitions_assigned(self, assigned: Any) -> None:
        self._notes.add("assigned", [place.partition for place in assigned])

    def on_partitions_revoked(self, revoked: Any) -> None:
        self._notes.add("revoked", [place.partition for place in revoked])


class Member:
    def __init__(self, notes: Any, **wanted: Any) -> None:
        self._notes = notes
        self._topic = wanted["topic"]
        self._consumer: AIOKafkaConsumer
        self._polling: asyncio.Task[None]
        self._ask(self._open(**wanted))

    async def _open(
        self,
        *,
        bootstrap: str,
        group: str,
        topic: str,
        assignor: str,
        instance_id: str | None,
        session_timeout_ms: int,
        auto_commit: bool,
        reset: str,
    ) -> None:
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap,
            client_id="aiokafka",
            group_id=group,
            group_instance_id=instance_id,
            partition_assignment_strategy=[ASSIGNORS[assignor]],
            session_timeout_ms=session_timeout_ms,
            heartbeat_interval_ms=200,
            enable_auto_commit=auto_commit,
            auto_commit_interval_ms=200,
            auto_offset_reset=reset,
            fetch_max_wait_ms=100,
        )
        self._consumer.subscribe([topic], listener=Listener(self._notes))
        # start() waits for the first assignment, which may need other members to make room.
        self._polling = asyncio.get_running_loop().create_task(self._poll())

    async def _poll(self) -> None:
        try:
            await self._consumer.start()
        except aiokafka.errors.KafkaError as failure:
            self._notes.add("failed", code_of(failure))
            return
        while True:
            try:
                polled = await self._consumer.getmany(timeout_ms=50)
            except aiokafka.errors.KafkaError as failure:
                self._notes.add("failed", code_of(failure))
                await asyncio.sleep(0.1)
                continue
            if read := [(one.partition, one.offset) for messages in polled.values() for one in messages]:
                self._notes.add("records", read)

    def commit(self, offsets: dict[int, tuple[int, str]] | None, wait: bool) -> None:
        named = {
            TopicPartition(self._topic, index): OffsetAndMetadata(offset, metadata)
            for index, (offset, metadata) in (offsets or {}).items()
        }

        async def commit() -> None:
            work = self._consumer.commit(named or None)
            if wait:
                await work
            else:
                self._committing = asyncio.get_running_loop().create_task(work)

        self._ask(commit())

    def committed(self, partitions: list[int]) -> list[tuple[int, int, str]]:
        """aiokafka tells a consumer its offset only; the words beside it come through the admin driver."""

        async def committed() -> list[tuple[int, int, str]]:
            found = [
                (index, await self._consumer.committed(TopicPartition(self._topic, index)))
                for index in partitions
            ]
            return [(index, offset, "") for index, offset in found if offset is not None]

        found: list[tuple[int, int, str]] = self._ask(committed())
        return found

    def _ask(self, work: Any) -> Any:
        try:
            return asyncio.run_coroutine_threadsafe(work, LOOP).result(60)
        except aiokafka.errors.KafkaError as failure:
            raise Refused(*code_of(failure)) from failure

    def close(self) -> None:
        async def close() -> None:
            self._polling.cancel()
            await asyncio.gather(self._polling, return_exceptions=True)
            await self._consumer.stop()

        self._ask(close())


def code_of(failure: aiokafka.errors.KafkaError) -> tuple[int, str]:
    is_reset = isinstance(
        failure, aiokafka.errors.OffsetOutOfRangeError | aiokafka.errors.NoOffsetForPartitionError
    )
    return (1 if is_reset else getattr(failure, "errno", -1)), repr(failure)
