"""A writer on aiokafka."""

import asyncio
from collections.abc import Callable
from typing import Any

from aiokafka import AIOKafkaProducer

from tests.interop.members.aiokafka_member import LOOP


class Writer:
    def __init__(
        self,
        note: Callable[[int, int, str], None],
        *,
        bootstrap: str,
        topic: str,
        partition: int,
        every_ms: int,
    ) -> None:
        self._note = note
        self._where = (topic, partition)
        self._every_s = every_ms / 1000
        self._bootstrap = bootstrap
        self._stopping = False
        self._running = asyncio.run_coroutine_threadsafe(self._write(), LOOP)

    async def _write(self) -> None:
        topic, partition = self._where
        sent: set[asyncio.Future[Any]] = set()
        async with AIOKafkaProducer(bootstrap_servers=self._bootstrap, enable_idempotence=True) as producer:
            number = 0
            while not self._stopping:
                future = await producer.send(topic, b"%d" % number, partition=partition)
                future.add_done_callback(lambda done, number=number: self._on_done(done, number))
                sent.add(future)
                future.add_done_callback(sent.discard)
                number += 1
                await asyncio.sleep(self._every_s)
            await asyncio.gather(*sent, return_exceptions=True)

    def _on_done(self, done: asyncio.Future[Any], number: int) -> None:
        error = done.exception()
        self._note(number, -1 if error else done.result().offset, repr(error) if error else "")

    def stop(self) -> None:
        self._stopping = True
        self._running.result(90)
