"""The Python client against a real broker, without groups: producing, assigned reading, admin."""

import asyncio
import gc
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime
from typing import Any

import pytest

from tidelog import (
    AckMode,
    Admin,
    AdminConfig,
    AsyncConsumer,
    AsyncProducer,
    BufferFull,
    ClientClosed,
    ConfigSource,
    ConfigurationError,
    Consumer,
    ConsumerConfig,
    DeliveryTimedOut,
    DeserializationError,
    MessageTooLarge,
    OffsetAt,
    OffsetOutOfRange,
    OffsetResetPolicy,
    ProduceError,
    Producer,
    ProducerConfig,
    Receipt,
    RequestRefused,
    RequestTimedOut,
    SerializationError,
    TimestampType,
    TopicExists,
    TopicPartition,
    UnknownTopic,
    UsageError,
    json_deserializer,
    json_serializer,
    text_deserializer,
)

NOWHERE = ["127.0.0.1:1"]


@pytest.fixture
def servers(broker_address: str) -> list[str]:
    return [broker_address]


@pytest.fixture
def place(topic: str) -> TopicPartition:
    return TopicPartition(topic, 0)


def from_start(servers: list[str], **fields: Any) -> ConsumerConfig:
    return ConsumerConfig(
        bootstrap_servers=servers,
        auto_offset_reset=OffsetResetPolicy.EARLIEST,
        fetch_max_wait_ms=50,
        **fields,
    )


def write(servers: list[str], topic: str, *values: str, partition: int = 0) -> None:
    with Producer(ProducerConfig(bootstrap_servers=servers)) as producer:
        for value in values:
            producer.send(topic, value, partition=partition)


def read(consumer: Consumer[Any, Any], count: int, patience_s: float = 20) -> list[Any]:
    messages: list[Any] = []
    deadline = time.monotonic() + patience_s
    while len(messages) < count and time.monotonic() < deadline:
        messages += consumer.poll(timeout_ms=500)
    return messages


# Producing


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_is_sent_is_read_back(servers: list[str], place: TopicPartition, compression: str) -> None:
    began = time.time() * 1000
    settings = ProducerConfig(
        bootstrap_servers=servers,
        acks=AckMode.ALL,
        linger_ms=10,
        batch_size=16_384,
        compression_type=compression,
        enable_idempotence=True,
    )
    with Producer(settings) as producer:
        receipt = producer.send(
            place.topic, key="user-1", value="Hello", headers={"a": "1", "b": None}
        ).result(20)
        second = producer.send(
            place.topic, b"\x00\xff", headers=[("a", "1"), ("a", "2")], timestamp=1_000
        ).result(20)
    assert receipt[:3] == (place.topic, 0, 0)
    assert receipt.topic_partition == place
    assert receipt.timestamp is not None
    assert abs(receipt.timestamp - began) < 60_000
    assert (second.offset, second.timestamp) == (1, 1_000)
    with Consumer(from_start(servers)) as consumer:
        consumer.assign([place])
        one, other = read(consumer, 2)
    assert (one.key, one.value, one.offset, one.timestamp) == (b"user-1", b"Hello", 0, receipt.timestamp)
    assert one.headers == (("a", b"1"), ("b", None))
    assert one.timestamp_type is TimestampType.CREATE_TIME
    assert (other.key, other.value, other.timestamp) == (None, b"\x00\xff", 1_000)
    assert other.header("a") == b"2"


def test_thousands_of_futures_keep_their_order(servers: list[str], place: TopicPartition) -> None:
    with Producer(ProducerConfig(bootstrap_servers=servers)) as producer:
        futures = [producer.send(place.topic, str(number), partition=0) for number in range(5_000)]
    assert [future.result(0).offset for future in futures] == list(range(5_000))


def test_callbacks_get_the_receipt_and_may_raise(
    servers: list[str], topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[Any] = []

    def note(receipt: Any, error: Any) -> None:
        seen.append((receipt, error))
        raise ValueError("a bug of the user")

    with Producer(ProducerConfig(bootstrap_servers=servers)) as producer:
        receipts = [producer.send(topic, str(number), on_delivery=note) for number in range(3)]
    assert [receipt for receipt, _ in seen] == [future.result(0) for future in receipts]
    assert "on_delivery callback raised" in caplog.text


def test_without_acks_nobody_knows_the_offset(servers: list[str], topic: str) -> None:
    with Producer(ProducerConfig(bootstrap_servers=servers, acks=AckMode.NONE)) as producer:
        assert producer.send(topic, "x").result(20).offset is None


def test_keys_go_where_java_puts_them(servers: list[str], make_topic: Callable[..., str]) -> None:
    topic = make_topic(partitions=6)
    with Producer(ProducerConfig(bootstrap_servers=servers)) as producer:
        found = [
            producer.send(topic, "x", key=key).result(20).partition for key in ("user-1", "user-2", "abc")
        ]
    assert found == [murmur2_partition(key, 6) for key in (b"user-1", b"user-2", b"abc")]


def murmur2_partition(key: bytes, partitions: int) -> int:
    """Kafka's default partitioner, from its description."""
    mask, factor = 0xFFFFFFFF, 0x5BD1E995
    mixed = 0x9747B28C ^ len(key)
    whole = len(key) // 4 * 4
    for at in range(0, whole, 4):
        word = int.from_bytes(key[at : at + 4], "little") * factor & mask
        word = (word ^ word >> 24) * factor & mask
        mixed = (mixed * factor & mask) ^ word
    if rest := key[whole:]:
        mixed = (mixed ^ int.from_bytes(rest, "little")) * factor & mask
    mixed = (mixed ^ mixed >> 13) * factor & mask
    return ((mixed ^ mixed >> 15) & 0x7FFFFFFF) % partitions


def test_what_is_wrong_with_a_record_raises_at_once(servers: list[str], topic: str) -> None:
    with Producer(ProducerConfig(bootstrap_servers=servers)) as producer:
        with pytest.raises(SerializationError, match="a dict, could not be made bytes"):
            producer.send(topic, {"a": 1})  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="no partition -2"):
            producer.send(topic, "x", partition=-2)
        with pytest.raises(UsageError, match="not after 1970"):
            producer.send(topic, "x", timestamp=0)
    with pytest.raises(ClientClosed, match="producer is closed"):
        producer.send(topic, "x")


def test_a_record_that_is_too_large(servers: list[str], make_topic: Callable[..., str]) -> None:
    topic = make_topic(max_message_bytes="2000")
    with Producer(ProducerConfig(bootstrap_servers=servers, max_request_size=10_000)) as producer:
        assert isinstance(
            producer.send(topic, "x" * 5_000).exception(20), MessageTooLarge
        )  # the broker's word
        assert isinstance(producer.send(topic, "x" * 50_000).exception(20), MessageTooLarge)  # the client's
        assert producer.send(topic, "x").result(20).offset == 0


def test_a_partition_that_does_not_exist(servers: list[str], topic: str) -> None:
    with Producer(ProducerConfig(bootstrap_servers=servers, delivery_timeout_ms=3_000)) as producer:
        error = producer.send(topic, "x", partition=77).exception(20)
    assert isinstance(error, UnknownTopic)


def test_no_broker_at_all() -> None:
    nowhere = ProducerConfig(
        bootstrap_servers=NOWHERE, delivery_timeout_ms=300, buffer_records=1, max_block_ms=50
    )
    with Producer(nowhere) as producer:
        waiting = producer.send("t", "x")
        with pytest.raises(RequestTimedOut, match="1 records were not acknowledged"):
            producer.flush(timeout_ms=10)
        with pytest.raises(BufferFull, match="within 50 ms"):
            producer.send("t", "y")
        assert len(producer) == 1
    error = waiting.exception(0)
    assert isinstance(error, DeliveryTimedOut)
    assert error.reason == "_MSG_TIMED_OUT"


def test_a_close_with_a_limit_fails_what_is_left() -> None:
    producer = Producer(ProducerConfig(bootstrap_servers=NOWHERE))
    waiting = producer.send("t", "x")
    producer.close(timeout_ms=20)
    assert isinstance(waiting.exception(0), ProduceError)
    producer.close()  # a second close is no mistake


def test_what_librdkafka_does_not_know_is_refused_when_the_client_is_made(servers: list[str]) -> None:
    with pytest.raises(ConfigurationError, match=r"socket\.keepalive\.enabled"):
        Producer(ProducerConfig(bootstrap_servers=servers, extra={"socket.keepalive.enabled": True}))


def test_extra_properties_and_callbacks_reach_librdkafka(servers: list[str], topic: str) -> None:
    statistics: Future[str] = Future()
    extra = {
        "statistics.interval.ms": 50,
        "stats_cb": lambda text: statistics.done() or statistics.set_result(text),
        "socket.keepalive.enable": True,
    }
    with Producer(ProducerConfig(bootstrap_servers=servers, extra=extra)) as producer:
        producer.send(topic, "x")
        assert '"client_id":"tidelog"' in statistics.result(20).replace(" ", "")


def test_a_forgotten_producer_ends_with_a_warning(servers: list[str]) -> None:
    name = f"forgotten-{time.monotonic_ns()}"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Producer(ProducerConfig(bootstrap_servers=servers, client_id=name))
        gc.collect()
    assert any("not closed" in str(each.message) for each in caught)
    assert not any(thread.name.startswith(name) for thread in threading.enumerate())


# Reading assigned partitions


def test_assign_seek_position_and_lag(servers: list[str], place: TopicPartition) -> None:
    write(servers, place.topic, *map(str, range(10)))
    with Consumer(from_start(servers, max_poll_records=4)) as consumer:
        consumer.assign({place: 3})
        assert consumer.position(place) == 3
        assert consumer.lag() == {place: 7}
        first = consumer.poll(20_000)
        assert len(first) <= 4
        assert first[0].offset == 3
        assert consumer.position(place) == first[-1].offset + 1
        consumer.seek(place, 8)
        assert [message.value for message in read(consumer, 2)] == [b"8", b"9"]
        assert consumer.lag() == {place: 0}
        consumer.seek_to_beginning()
        assert read(consumer, 1)[0].offset == 0
        consumer.seek_to_end(place)
        write(servers, place.topic, "new")
        assert [message.value for message in read(consumer, 1)] == [b"new"]
        assert consumer.watermarks(place) == (0, 11)
        assert consumer.assignment() == [place]


def test_iterating_hands_out_one_by_one(servers: list[str], place: TopicPartition) -> None:
    write(servers, place.topic, *"abc")
    with Consumer(from_start(servers), value_deserializer=text_deserializer) as consumer:
        consumer.assign([place])
        seen = []
        for message in consumer:
            seen.append((message.value, consumer.position(place)))
            if len(seen) == 3:
                break
    assert seen == [("a", 1), ("b", 2), ("c", 3)]


def test_latest_means_from_the_assign_on(servers: list[str], place: TopicPartition) -> None:
    write(servers, place.topic, "old")
    with Consumer(ConsumerConfig(bootstrap_servers=servers)) as consumer:
        consumer.assign([place])
        write(servers, place.topic, "new")
        assert [message.value for message in read(consumer, 1)] == [b"new"]


def test_seeking_by_time(servers: list[str], place: TopicPartition) -> None:
    with Producer(ProducerConfig(bootstrap_servers=servers)) as producer:
        for second in range(5):
            producer.send(place.topic, str(second), timestamp=datetime.fromtimestamp(1_000 + second, UTC))
    with Consumer(from_start(servers)) as consumer:
        consumer.assign([place])
        consumer.seek_to_time(datetime.fromtimestamp(1_003, UTC))
        assert [message.value for message in read(consumer, 2)] == [b"3", b"4"]


def test_a_paused_partition_is_silent_and_loses_nothing(
    servers: list[str], make_topic: Callable[..., str]
) -> None:
    topic = make_topic(partitions=2)
    quiet, loud = TopicPartition(topic, 0), TopicPartition(topic, 1)
    write(servers, topic, *map(str, range(20)), partition=0)
    write(servers, topic, *map(str, range(20)), partition=1)
    with Consumer(from_start(servers, max_poll_records=5)) as consumer:
        consumer.assign([quiet, loud])
        seen = read(consumer, 1)
        consumer.pause(quiet)
        assert consumer.paused() == {quiet}
        while len([message for message in seen if message.partition == 1]) < 20:
            more = consumer.poll(20_000)
            assert all(message.topic_partition == loud for message in more)
            seen += more
        consumer.resume()
        seen += read(consumer, 40 - len(seen))
    for partition in (0, 1):
        found = [message.offset for message in seen if message.partition == partition]
        assert found == list(range(20))


def test_an_offset_that_is_gone(servers: list[str], place: TopicPartition) -> None:
    write(servers, place.topic, *"abcde")
    with Admin(AdminConfig(bootstrap_servers=servers)) as admin:
        assert admin.delete_records({place: 3}) == {place: 3}
    strict = ConsumerConfig(bootstrap_servers=servers, auto_offset_reset=OffsetResetPolicy.NONE)
    with Consumer(strict) as consumer:
        with pytest.raises(UsageError, match="needs offsets"):
            consumer.assign([place])
        consumer.assign({place: 0})
        with pytest.raises(OffsetOutOfRange):
            read(consumer, 1)
        consumer.seek(place, 4)
        assert [message.value for message in read(consumer, 1)] == [b"e"]
    with Consumer(from_start(servers)) as consumer:
        consumer.assign({place: 0})
        assert [message.value for message in read(consumer, 2)] == [b"d", b"e"]


def test_poison_is_reported_and_passed_over(servers: list[str], place: TopicPartition) -> None:
    write(servers, place.topic, "1", "{broken", "3")
    with Consumer(from_start(servers), value_deserializer=json_deserializer) as consumer:
        consumer.assign([place])
        values = []
        while len(values) < 3:
            try:
                values += [message.value for message in consumer.poll(20_000)]
            except DeserializationError as error:
                values.append((error.offset, error.value))
    assert values == [1, (1, b"{broken"), 3]


def test_what_needs_a_group_says_so(servers: list[str], place: TopicPartition) -> None:
    with Consumer(from_start(servers)) as consumer:
        for call in (
            lambda: consumer.subscribe([place.topic]),
            consumer.commit,
            lambda: consumer.committed(place),
        ):
            with pytest.raises(UsageError, match="needs a group"):
                call()
    with pytest.raises(ClientClosed, match="consumer is closed"):
        consumer.poll()


# asyncio


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


# Administration


def test_the_life_of_a_topic(servers: list[str], topic_name: str) -> None:
    with Admin(AdminConfig(bootstrap_servers=servers)) as admin:
        assert admin.create_topic(
            topic_name, partitions=2, config={"retention.ms": 60_000, "preallocate": False}
        )
        assert not admin.create_topic(topic_name, if_not_exists=True)
        with pytest.raises(TopicExists):
            admin.create_topic(topic_name)
        assert topic_name in admin.list_topics()
        described = admin.describe_topic(topic_name)
        assert [part.partition for part in described.partitions] == [0, 1]
        assert described.places() == [TopicPartition(topic_name, 0), TopicPartition(topic_name, 1)]
        assert described.partitions[0].leader in {node.id for node in admin.describe_cluster().nodes}
        admin.add_partitions(topic_name, 3)
        assert len(admin.describe_topic(topic_name).partitions) == 3
        with pytest.raises(RequestRefused):
            admin.add_partitions(topic_name, 2)
        own = {name: each for name, each in admin.topic_config(topic_name).items() if each.is_own}
        assert own["retention.ms"].value == "60000"
        admin.alter_topic_config(topic_name, {"retention.ms": 5_000, "cleanup.policy": ["compact", "delete"]})
        settings = admin.topic_config(topic_name)
        assert (settings["retention.ms"].value, settings["retention.ms"].source) == (
            "5000",
            ConfigSource.TOPIC,
        )
        assert settings["cleanup.policy"].value == "compact,delete"
        admin.alter_topic_config(topic_name, unset=["retention.ms"])
        assert admin.topic_config(topic_name)["retention.ms"].value == "604800000"
        with pytest.raises(RequestRefused):
            admin.alter_topic_config(topic_name, {"retention.ms": "soon"})
        admin.delete_topics(topic_name)
        admin.delete_topics(topic_name, missing_ok=True)
        assert not admin.topic_exists(topic_name)
        with pytest.raises(UnknownTopic, match=topic_name):
            admin.describe_topic(topic_name)
    with pytest.raises(ClientClosed):
        admin.list_topics()


def test_validate_only_creates_nothing(servers: list[str], topic_name: str) -> None:
    with Admin(AdminConfig(bootstrap_servers=servers)) as admin:
        admin.create_topic(
            topic_name, assignment=[[admin.describe_cluster().nodes[0].id]], validate_only=True
        )
        assert not admin.topic_exists(topic_name)
        with pytest.raises(RequestRefused):
            admin.create_topic("not a name", validate_only=True)
        with pytest.raises(RequestRefused):
            admin.create_topic(topic_name, replication_factor=99)


def test_offsets_by_edge_and_time(servers: list[str], place: TopicPartition) -> None:
    with Producer(ProducerConfig(bootstrap_servers=servers)) as producer:
        for time_ms in (1_000, 3_000, 2_000):
            producer.send(place.topic, "x", timestamp=time_ms)
    with Admin(AdminConfig(bootstrap_servers=servers)) as admin:

        def at(when: OffsetAt | int) -> int | None:
            return admin.list_offsets([place], when)[place].offset

        assert (at(OffsetAt.EARLIEST), at(OffsetAt.LATEST), at(OffsetAt.MAX_TIMESTAMP)) == (0, 3, 1)
        assert (at(1_500), at(9_999)) == (1, None)
        assert admin.list_offsets([]) == {}
        assert admin.delete_records({place: None}) == {place: 3}
        assert at(OffsetAt.EARLIEST) == 3
        with pytest.raises(UnknownTopic):
            admin.list_offsets([TopicPartition(place.topic, 99)])


def test_broker_settings(servers: list[str]) -> None:
    with Admin(AdminConfig(bootstrap_servers=servers)) as admin:
        node = admin.describe_cluster().nodes[0].id
        assert admin.broker_config(node)["log.segment.bytes"].value
        admin.alter_broker_config({"log.cleaner.threads": 2}, broker=node, validate_only=True)


def test_no_broker_to_administrate() -> None:
    with Admin(AdminConfig(bootstrap_servers=NOWHERE, request_timeout_ms=300)) as admin:
        for call in (admin.list_topics, admin.describe_cluster, lambda: admin.create_topic("t")):
            with pytest.raises((RequestTimedOut, ProduceError.__base__)) as caught:
                call()
            assert caught.value.retriable
