"""The Python client against a real broker: sending records, and reading assigned partitions."""

import gc
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.interop.client_calls import NOWHERE, from_start, read, write
from tidelog import (
    AckMode,
    Admin,
    AdminConfig,
    BufferFull,
    ClientClosed,
    ConfigurationError,
    ConnectionFailed,
    Consumer,
    ConsumerConfig,
    DeliveryTimedOut,
    DeserializationError,
    MessageTooLarge,
    OffsetOutOfRange,
    OffsetResetPolicy,
    ProduceError,
    Producer,
    ProducerConfig,
    RequestTimedOut,
    SerializationError,
    TimestampType,
    TopicPartition,
    UnknownTopic,
    UsageError,
    json_deserializer,
    text_deserializer,
)
from tidelog.testing import Broker


@pytest.fixture
def servers(broker_address: str) -> list[str]:
    return [broker_address]


@pytest.fixture
def place(topic: str) -> TopicPartition:
    return TopicPartition(topic, 0)


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
    assert "partition 77" in error.what
    assert "create" not in error.what_to_do


def test_a_producer_made_from_a_dict(servers: list[str], topic: str) -> None:
    with Producer({"bootstrap.servers": servers[0], "acks": -1, "linger.ms": "0"}) as producer:
        assert producer.send(topic, "x").result(20).offset == 0


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
    assert "Connection refused" in error.likely_cause


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


def test_a_script_that_sends_and_ends_loses_nothing(servers: list[str], place: TopicPartition) -> None:
    script = f"""
import tidelog

def main():
    producer = tidelog.Producer({{"bootstrap.servers": "{servers[0]}", "linger.ms": 500}})
    producer.send("{place.topic}", "the last word", partition=0)

main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "a producer was not closed, and 1 of its records" in done.stderr
    with Consumer(from_start(servers)) as consumer:
        consumer.assign([place])
        assert [message.value for message in read(consumer, 1)] == [b"the last word"]


def test_a_forgotten_producer_ends_with_a_warning(servers: list[str]) -> None:
    name = f"forgotten-{time.monotonic_ns()}"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Producer(ProducerConfig(bootstrap_servers=servers, client_id=name))
        gc.collect()
    assert any("not closed" in str(each.message) for each in caught)
    assert not any(thread.name.startswith(name) for thread in threading.enumerate())


# Reading assigned partitions


def test_polling_without_a_broker_is_an_error_after_the_request_timeout() -> None:
    with Consumer(from_start(NOWHERE, group_id="g", request_timeout_ms=500)) as consumer:
        consumer.subscribe(["t"])
        assert consumer.poll(100) == []
        with pytest.raises(ConnectionFailed, match="No broker was reached at") as caught:
            consumer.poll(60_000)
    assert "Connection refused" in caught.value.likely_cause


def test_polling_an_empty_topic_is_not(servers: list[str], place: TopicPartition) -> None:
    with Consumer(from_start(servers, group_id=place.topic, request_timeout_ms=500)) as consumer:
        assert [consumer.poll(400) for _ in range(3)] == [[], [], []]
        consumer.assign([place])
        assert consumer.poll(400) == []


def test_a_consumer_that_had_its_broker_waits_for_it(place: TopicPartition) -> None:
    with Broker() as broker:
        write([broker.bootstrap_servers], "t", "a")
        config = from_start([broker.bootstrap_servers], request_timeout_ms=300)
        with Consumer(config) as consumer:
            consumer.assign([TopicPartition("t", 0)])
            assert [message.value for message in read(consumer, 1)] == [b"a"]
            broker.stop()
            assert [consumer.poll(500) for _ in range(3)] == [[], [], []]


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


def test_a_broker_that_restarts_is_waited_for() -> None:
    with Broker() as broker:
        servers, place = [broker.bootstrap_servers], TopicPartition("t", 0)
        with (
            Producer(
                ProducerConfig(bootstrap_servers=servers, extra={"reconnect.backoff.max.ms": 500})
            ) as producer,
            Consumer(from_start(servers, extra={"reconnect.backoff.max.ms": 500})) as consumer,
        ):
            assert producer.send("t", "before", partition=0).result(20).offset == 0
            consumer.assign([place])
            assert [message.value for message in read(consumer, 1)] == [b"before"]
            broker.restart()
            assert producer.send("t", "after", partition=0).result(20).offset == 1
            assert [message.value for message in read(consumer, 1)] == [b"after"]
