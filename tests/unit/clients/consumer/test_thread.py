"""The asyncio consumer's thread: calls, listeners that call back, errors in their place, a clean end."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError
from confluent_kafka import Message as Raw
from confluent_kafka import TopicPartition as LibrdkafkaPlace

from tests.unit.clients.fake_consumer import FakeConsumer, raw
from tidelog import ClientClosed, ConsumerConfig, OffsetOutOfRange, TopicPartition
from tidelog.clients.consumer.core import ConsumerCore
from tidelog.clients.consumer.rebalance import RebalanceListener
from tidelog.clients.consumer.thread import ConsumerThread
from tidelog.clients.serializers import bytes_deserializer

A = TopicPartition("t", 0)


def with_thread(scenario: Callable[[ConsumerThread, ConsumerCore], Awaitable[None]], **fields: Any) -> None:
    async def run() -> None:
        config = ConsumerConfig(bootstrap_servers="nowhere:1", group_id="g", **fields)
        core = ConsumerCore(config, bytes_deserializer, bytes_deserializer, FakeConsumer)
        thread = ConsumerThread(core, asyncio.get_running_loop())
        async with asyncio.timeout(20):
            await scenario(thread, core)
            await thread.stop(handled=True)
        assert core.closed
        with pytest.raises(ClientClosed):
            await thread.call(lambda: None)

    asyncio.run(run())


def test_calls_run_on_the_thread_and_raise_where_they_were_made() -> None:
    async def scenario(thread: ConsumerThread, core: ConsumerCore) -> None:
        assert "consumer" in (await thread.call(threading.current_thread)).name
        with pytest.raises(ZeroDivisionError):
            await thread.call(lambda: 1 // 0)

    with_thread(scenario)


def test_messages_and_errors_arrive_in_order() -> None:
    async def scenario(thread: ConsumerThread, core: ConsumerCore) -> None:
        failure: Any = Raw(topic="t", partition=0, error=KafkaError(KafkaError._AUTO_OFFSET_RESET))
        core.client.receive(raw(0, 0), failure, raw(0, 1))
        seen: list[Any] = []
        while len(seen) < 3:
            try:
                seen += [message.offset for message in thread.messages.take(10)]
            except OffsetOutOfRange:
                seen.append("error")
            if len(seen) < 3:
                await thread.messages.wait(1)
        assert seen == [0, "error", 1]

    with_thread(scenario)


def test_a_listener_on_the_loop_may_await_the_consumer() -> None:
    async def scenario(thread: ConsumerThread, core: ConsumerCore) -> None:
        assigned = asyncio.Event()

        async def begin(places: list[TopicPartition]) -> None:
            assert threading.current_thread() is threading.main_thread()
            await thread.call(lambda: core.seek(A, 42))
            assigned.set()

        await thread.call(lambda: core.subscribe(["t"], RebalanceListener(on_assign=thread.bridge(begin))))
        core.client.next_rebalance = ("on_assign", [LibrdkafkaPlace(*A)])
        await assigned.wait()
        while not (found := await thread.call(lambda: dict(core.client.assigned))):
            pass  # the listener is about to return
        assert found == {A: 42}

    with_thread(scenario)


def test_what_a_listener_raises_reaches_the_reader() -> None:
    async def scenario(thread: ConsumerThread, core: ConsumerCore) -> None:
        def explode(places: list[TopicPartition]) -> None:
            raise ZeroDivisionError

        await thread.call(lambda: core.subscribe(["t"], RebalanceListener(on_assign=thread.bridge(explode))))
        core.client.next_rebalance = ("on_assign", [LibrdkafkaPlace(*A)])
        await thread.messages.wait(None)
        with pytest.raises(ZeroDivisionError):
            thread.messages.take(1)

    with_thread(scenario)


def test_the_buffer_has_room_for_so_many_and_no_more() -> None:
    async def scenario(thread: ConsumerThread, core: ConsumerCore) -> None:
        core.client.receive(*(raw(0, offset) for offset in range(100)))
        seen: list[int] = []
        while len(seen) < 100:
            await thread.messages.wait(None)
            assert len(thread.messages) <= 8
            seen += [message.offset for message in thread.messages.take(3)]
        assert seen == list(range(100))

    with_thread(scenario, buffer_records=8)


def test_the_end_of_the_loop_is_the_end_of_the_thread() -> None:
    async def forgetful() -> ConsumerThread:
        config = ConsumerConfig(bootstrap_servers="nowhere:1", client_id="forgetful")
        core = ConsumerCore(config, bytes_deserializer, bytes_deserializer, FakeConsumer)
        return ConsumerThread(core, asyncio.get_running_loop())

    thread = asyncio.run(forgetful())
    thread._thread.join(10)
    assert not thread._thread.is_alive()
