"""The Python client for asyncio against a real broker: nothing blocks the loop, nothing overflows."""

import asyncio
import threading
import time

import pytest

from tests.interop.client_calls import NOWHERE, from_start, write
from tidelog import (
    AsyncConsumer,
    AsyncProducer,
    BufferFull,
    ClientClosed,
    DeliveryTimedOut,
    DeserializationError,
    ProducerConfig,
    Receipt,
    TopicPartition,
    json_deserializer,
    json_serializer,
)


@pytest.fixture
def servers(broker_address: str) -> list[str]:
    return [broker_address]


@pytest.fixture
def place(topic: str) -> TopicPartition:
    return TopicPartition(topic, 0)


def test_async_there_and_back(servers: list[str], place: TopicPartition) -> None:
    async def scenario() -> None:
        async with AsyncProducer(
            ProducerConfig(bootstrap_servers=servers), value_serializer=json_serializer
        ) as producer:
            first = await producer.send(place.topic, {"n": 0}, key="k")
            assert isinstance(first, Receipt)
            futures = [await producer.enqueue(place.topic, {"n": n}) for n in range(1, 500)]
            await producer.flush()
            assert [future.result().offset for future in futures] == list(range(1, 500))
        async with AsyncConsumer(from_start(servers), value_deserializer=json_deserializer) as consumer:
            await consumer.assign([place])
            seen = []
            async for message in consumer:
                seen.append(message.value)
                if len(seen) == 500:
                    break
            assert seen == [{"n": n} for n in range(500)]
            assert await consumer.position(place) == 500
            assert await consumer.lag() == {place: 0}
            await consumer.seek(place, 498)
            assert (await consumer.poll(20_000))[0].offset == 498

    asyncio.run(scenario())


def test_async_backpressure_keeps_the_buffer_bounded(servers: list[str], place: TopicPartition) -> None:
    write(servers, place.topic, *map(str, range(2_000)))

    async def scenario() -> None:
        async with AsyncConsumer(from_start(servers, buffer_records=64)) as consumer:
            await consumer.assign([place])
            seen, most = [], 0
            async for message in consumer:
                seen.append(message.offset)
                if len(seen) % 100 == 0:
                    await asyncio.sleep(0.02)
                most = max(most, consumer.buffered())
                if len(seen) == 2_000:
                    break
            assert seen == list(range(2_000))
            assert 0 < most <= 64

    asyncio.run(scenario())


def test_async_the_loop_is_never_blocked(servers: list[str], place: TopicPartition) -> None:
    async def scenario() -> float:
        longest = 0.0
        running = True

        async def beat() -> None:
            nonlocal longest
            while running:
                began = time.perf_counter()
                await asyncio.sleep(0.005)
                longest = max(longest, time.perf_counter() - began - 0.005)

        watch = asyncio.create_task(beat())
        async with AsyncConsumer(from_start(servers)) as consumer:
            await consumer.assign([place])
            assert await consumer.poll(timeout_ms=700) == []
            unreachable = ProducerConfig(bootstrap_servers=NOWHERE, delivery_timeout_ms=500)
            async with AsyncProducer(unreachable) as producer:
                with pytest.raises(DeliveryTimedOut):
                    await producer.send("t", "x")
        running = False
        await watch
        return longest

    assert asyncio.run(scenario()) < 0.3  # a blocked loop would show half a second


def test_async_pause_errors_and_close(servers: list[str], place: TopicPartition) -> None:
    write(servers, place.topic, "1", "{broken", "3")

    async def scenario() -> None:
        consumer = AsyncConsumer(from_start(servers), value_deserializer=json_deserializer)
        await consumer.assign([place])
        assert [message.value for message in await consumer.poll(20_000, max_records=1)] == [1]
        with pytest.raises(DeserializationError):
            await consumer.poll(20_000)
        assert [message.value for message in await consumer.poll(20_000)] == [3]
        await consumer.pause()
        assert consumer.paused() == {place}
        await asyncio.to_thread(write, servers, place.topic, "4")
        assert await consumer.poll(300) == []
        await consumer.resume()
        assert [message.value for message in await consumer.poll(20_000)] == [4]
        waiting = asyncio.create_task(anext(aiter(consumer), "the end"))
        await asyncio.sleep(0.05)
        await consumer.close()
        assert await waiting == "the end"
        await consumer.close()
        with pytest.raises(ClientClosed):
            await consumer.poll()
        with pytest.raises(ClientClosed):
            await consumer.lag()

    asyncio.run(scenario())
    assert not any("consumer" in thread.name for thread in threading.enumerate())


def test_async_the_buffer_makes_senders_wait(servers: list[str], topic: str) -> None:
    async def scenario() -> None:
        small = ProducerConfig(bootstrap_servers=servers, buffer_records=10)
        async with AsyncProducer(small) as producer:
            receipts = await asyncio.gather(*(producer.send(topic, str(n), partition=0) for n in range(300)))
        assert sorted(receipt.offset or 0 for receipt in receipts) == list(range(300))
        nowhere = ProducerConfig(
            bootstrap_servers=NOWHERE, buffer_records=1, max_block_ms=50, delivery_timeout_ms=300
        )
        async with AsyncProducer(nowhere) as producer:
            first = await producer.enqueue("t", "x")
            with pytest.raises(BufferFull):
                await producer.enqueue("t", "y")
            with pytest.raises(DeliveryTimedOut):
                await first

    asyncio.run(scenario())
