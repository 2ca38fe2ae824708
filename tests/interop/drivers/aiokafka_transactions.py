"""Transactions with aiokafka: the first protocol, in its first versions.

A loop on a thread serves each producer.
"""

import asyncio
import threading
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any

import aiokafka.errors
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from tests.interop.driver import PATIENCE_S, Refused, Unfinished
from tests.interop.transactor import Placed

PRODUCER_FENCED = 90


class AiokafkaTransactor:
    def __init__(self, bootstrap: str, transactional_id: str, timeout_ms: int) -> None:
        self._bootstrap = bootstrap
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._producer: Any = None
        self._do(self._open(transactional_id, timeout_ms))

    def _do(self, work: Coroutine[Any, Any, Any]) -> None:
        try:
            asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_S + 5)
        except aiokafka.errors.KafkaError as failure:
            # Its own error for a fenced producer has no code.
            raise Refused(getattr(failure, "errno", PRODUCER_FENCED), failure) from failure

    async def _open(self, transactional_id: str, timeout_ms: int) -> None:
        self._producer = AIOKafkaProducer(
            bootstrap_servers=self._bootstrap,
            transactional_id=transactional_id,
            transaction_timeout_ms=timeout_ms,
        )
        await self._producer.start()

    def begin(self) -> None:
        self._do(self._producer.begin_transaction())

    def send(self, records: Iterable[Placed]) -> None:
        self._do(self._send(list(records)))

    async def _send(self, records: list[Placed]) -> None:
        sent = [
            await self._producer.send(topic, value.encode(), partition=partition)
            for topic, partition, value in records
        ]
        await asyncio.gather(*sent)

    def commit(self) -> None:
        self._do(self._producer.commit_transaction())

    def abort(self) -> None:
        self._do(self._producer.abort_transaction())

    def copy(self, source: str, target: str, group: str, count: int, *, commit: bool) -> None:
        self._do(asyncio.wait_for(self._copy(source, target, group, count, commit), PATIENCE_S))

    async def _copy(self, source: str, target: str, group: str, count: int, commit: bool) -> None:
        consumer = AIOKafkaConsumer(
            source,
            bootstrap_servers=self._bootstrap,
            group_id=group,
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        )
        await consumer.start()
        copied = 0
        try:
            while copied < count:
                found = await consumer.getmany(timeout_ms=200)
                if not found:
                    continue
                await self._producer.begin_transaction()
                for place, messages in found.items():
                    for message in messages:
                        await self._producer.send(target, message.value, partition=place.partition)
                ends = {place: messages[-1].offset + 1 for place, messages in found.items()}
                await self._producer.send_offsets_to_transaction(ends, group)
                if commit:
                    await self._producer.commit_transaction()
                else:
                    await self._producer.abort_transaction()
                copied += sum(map(len, found.values()))
        finally:
            await consumer.stop()

    def close(self) -> None:
        """Without the farewell that would end a transaction."""
        self._do(self._producer.client.close())
        self._loop.call_soon_threadsafe(self._loop.stop)


class Transactions:
    _bootstrap: str

    def open_transactor(self, transactional_id: str, timeout_ms: int = 60_000) -> AiokafkaTransactor:
        return AiokafkaTransactor(self._bootstrap, transactional_id, timeout_ms)

    def read_committed(self, topic: str, partitions: Sequence[int], count: int) -> list[tuple[int, str]]:
        found: list[tuple[int, str]] = []

        async def read() -> None:
            consumer = AIOKafkaConsumer(
                bootstrap_servers=self._bootstrap,
                isolation_level="read_committed",
                auto_offset_reset="earliest",
            )
            await consumer.start()
            try:
                consumer.assign([TopicPartition(topic, partition) for partition in partitions])
                while len(found) < count:
                    message = await consumer.getone()
                    found.append((message.partition, message.value.decode()))
            finally:
                await consumer.stop()

        try:
            asyncio.run(asyncio.wait_for(read(), PATIENCE_S))
        except TimeoutError:
            raise Unfinished("read", found) from None
        return found
