"""Transactions of the Python client: a `with` block that commits or aborts, and offsets that go with it."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer as RawConsumer
from confluent_kafka import KafkaError
from confluent_kafka import TopicPartition as RawPlace

from tests.interop.client_examples import examples
from tests.interop.waiting import eventually
from tidelog import (
    Admin,
    AdminConfig,
    AsyncConsumer,
    AsyncTransactionalProducer,
    Consumer,
    ConsumerConfig,
    IsolationLevel,
    OffsetAndMetadata,
    OffsetResetPolicy,
    Producer,
    ProducerConfig,
    ProducerFenced,
    RequestRefused,
    TopicPartition,
    TransactionAborted,
    TransactionalProducer,
    UsageError,
)


@pytest.fixture
def transactional(broker_address: str, topic_name: str) -> Callable[..., TransactionalProducer[Any, Any]]:
    def make(**options: Any) -> TransactionalProducer[Any, Any]:
        config = ProducerConfig(bootstrap_servers=[broker_address], linger_ms=0)
        return TransactionalProducer(config, transactional_id=f"id-{topic_name}", **options)

    return make


def reader_config(address: str, group: str) -> ConsumerConfig:
    return ConsumerConfig(
        bootstrap_servers=[address],
        group_id=group,
        auto_offset_reset=OffsetResetPolicy.EARLIEST,
        enable_auto_commit=False,
        isolation_level=IsolationLevel.READ_COMMITTED,
        max_poll_records=7,
    )


def fill(address: str, topic: str, count: int) -> list[bytes]:
    with Producer(ProducerConfig(bootstrap_servers=[address])) as producer:
        for number in range(count):
            producer.send(topic, str(number), partition=0)
    return [str(number).encode() for number in range(count)]


def group_offset(address: str, group: str, topic: str) -> int:
    with Admin(AdminConfig(bootstrap_servers=[address])) as admin:
        found = admin.group_offsets(group).get(TopicPartition(topic, 0))
    return 0 if found is None else found.offset


def values(address: str, topic: str, isolation: str = "read_committed") -> list[bytes]:
    """Everything that such a reader sees now."""
    consumer = RawConsumer(
        {
            "bootstrap.servers": address,
            "group.id": "unused",
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    consumer.assign([RawPlace(topic, 0, 0)])
    found: list[bytes] = []
    while True:
        message = consumer.poll(20)
        assert message is not None, f"nothing comes after {found}"
        if message.error() is not None:
            assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
            consumer.close()
            return found
        found.append(message.value())


def seen(address: str, topic: str, expected: list[bytes]) -> None:
    """Soon, and then for good: the markers follow the answer to a commit."""
    eventually(lambda: len(values(address, topic)) >= len(expected))
    assert values(address, topic) == expected


def test_a_block_commits_or_leaves_nothing(
    broker_address: str, topic: str, transactional: Callable[..., Any]
) -> None:
    with transactional() as producer:
        with producer.transaction() as tx:
            tx.send(topic, key="k", value="kept", partition=0)

        def fail() -> None:
            with producer.transaction() as tx:
                tx.send(topic, "dropped", partition=0).result(20)
                raise KeyError

        with pytest.raises(KeyError):
            fail()
        with producer.transaction() as tx:
            tx.send(topic, "dropped too", partition=0).result(20)
            tx.abort()
            with pytest.raises(UsageError, match="not open"):
                tx.send(topic, "late", partition=0)
        with producer.transaction():
            producer.send(topic, "kept too", partition=0)
        with pytest.raises(UsageError, match="within transactions only"):
            producer.send(topic, "outside", partition=0)
    seen(broker_address, topic, [b"kept", b"kept too"])
    everything = [b"kept", b"dropped", b"dropped too", b"kept too"]
    assert values(broker_address, topic, "read_uncommitted") == everything


def test_offsets_go_with_the_transaction(
    broker_address: str, make_topic: Callable[..., str], topic_name: str, transactional: Callable[..., Any]
) -> None:
    source, target = make_topic(), make_topic()
    written = fill(broker_address, source, 20)
    place, failures = TopicPartition(source, 0), [1, 3]
    rounds = moved = 0
    with Consumer(reader_config(broker_address, topic_name)) as consumer, transactional() as producer:
        consumer.subscribe([source])
        while moved < len(written):
            messages = consumer.poll(1000)
            rounds += bool(messages)
            try:
                with producer.transaction() as tx:
                    for message in messages:
                        tx.send(target, message.value, partition=0)
                    tx.commit_offsets(consumer)
                    if messages and rounds in failures:
                        raise ConnectionError("the output depends on something that is away")
            except ConnectionError:
                assert consumer.rewind() == {place: moved}
            else:
                moved += len(messages)
                assert consumer.handed_out() == {}
        assert rounds > len(failures)
    with Admin(AdminConfig(bootstrap_servers=[broker_address])) as admin:
        assert admin.group_offsets(topic_name) == {place: OffsetAndMetadata(len(written))}
    seen(broker_address, target, written)


def test_a_loop_that_crashes_anywhere_goes_on_where_it_was(
    broker_address: str, make_topic: Callable[..., str], topic_name: str, transactional: Callable[..., Any]
) -> None:
    """Each process dies at another step, without a word; output and offsets agree whenever one looks."""
    source, target = make_topic(), make_topic()
    written = fill(broker_address, source, 40)
    place, steps = TopicPartition(source, 0), ("begun", "sent", "offsets", "committed")
    abandoned = []
    for step in (*steps, None):
        consumer = Consumer(reader_config(broker_address, topic_name))
        consumer.assign([place])  # without a membership that a crash would leave behind
        producer = transactional().__enter__()
        start = group_offset(broker_address, topic_name, source)
        seen(broker_address, target, written[:start])
        moved, crashed = start, False
        while moved < len(written) and not crashed:
            messages = consumer.poll(5000)
            tx = producer.transaction().__enter__()
            crashed = step == "begun"
            for message in messages if not crashed else ():
                tx.send(target, message.value, partition=0).result(20)
            crashed = crashed or step == "sent"
            if not crashed:
                tx.commit_offsets(consumer)
                crashed = step == "offsets"
            if not crashed:
                tx.__exit__(None, None, None)
                moved += len(messages)
                crashed = step == "committed"
        abandoned.append(producer)
        consumer.close()
    assert group_offset(broker_address, topic_name, source) == len(written)
    seen(broker_address, target, written)
    with pytest.raises(ProducerFenced):
        abandoned[1].send(target, "from the dead", partition=0).result(20)
    for producer in abandoned:
        producer.close(0)
    seen(broker_address, target, written)


def test_lost_partitions_abort_the_transaction(
    broker_address: str, make_topic: Callable[..., str], topic_name: str, transactional: Callable[..., Any]
) -> None:
    """What one consumer has in hand while the group gives its partition away, the next one handles."""
    source, target = make_topic(), make_topic()
    fill(broker_address, source, 5)
    with Consumer(reader_config(broker_address, topic_name)) as consumer, transactional() as producer:
        consumer.subscribe([source])

        def move() -> None:
            with producer.transaction() as tx:
                while not (messages := consumer.poll(1000)):
                    pass
                for message in messages:
                    tx.send(target, message.value, partition=0)
                consumer.unsubscribe()
                consumer.poll(1000)  # what a rebalance does to its partitions
                tx.commit_offsets(consumer)

        with pytest.raises(TransactionAborted, match="went to another consumer"):
            move()
    assert group_offset(broker_address, topic_name, source) == 0
    assert values(broker_address, target) == []


def test_a_newer_producer_fences_the_older(topic: str, transactional: Callable[..., Any]) -> None:
    with transactional() as older:
        with older.transaction() as tx:
            tx.send(topic, "x", partition=0)
        with transactional():  # entering is enough

            def again() -> None:
                with older.transaction() as tx:
                    tx.send(topic, "z", partition=0).result(20)

            for _ in range(2):
                with pytest.raises(ProducerFenced) as caught:
                    again()
                assert caught.value.fatal


def test_a_transaction_that_takes_too_long_is_aborted(
    broker_address: str, topic: str, transactional: Callable[..., Any]
) -> None:
    with transactional(transaction_timeout_ms=1000) as producer:

        def dawdle() -> None:
            with producer.transaction() as tx:
                tx.send(topic, "late", partition=0).result(20)
                eventually(lambda: stable_end(broker_address, topic) == 2)  # the data and the marker

        with pytest.raises((ProducerFenced, TransactionAborted)):
            dawdle()
    with transactional() as producer, producer.transaction() as tx:
        tx.send(topic, "in time", partition=0)
    seen(broker_address, topic, [b"in time"])


def stable_end(address: str, topic: str) -> int:
    config = ConsumerConfig(bootstrap_servers=[address], isolation_level=IsolationLevel.READ_COMMITTED)
    with Consumer(config) as consumer:
        return consumer.watermarks(TopicPartition(topic, 0))[1]


def test_a_timeout_beyond_the_brokers_is_refused(transactional: Callable[..., Any]) -> None:
    with pytest.raises(RequestRefused, match="timeout"), transactional(transaction_timeout_ms=2_000_000):
        pass


def test_a_record_that_is_refused_takes_the_others_with_it(
    broker_address: str, make_topic: Callable[..., str], transactional: Callable[..., Any]
) -> None:
    topic, small = make_topic(), make_topic(max_message_bytes="1000")
    with transactional() as producer:

        def write() -> None:
            with producer.transaction() as tx:
                tx.send(topic, "dropped", partition=0)
                tx.send(small, "x" * 10_000, partition=0)

        with pytest.raises(TransactionAborted, match="Sending to topic") as caught:
            write()
        assert caught.value.retriable
        with producer.transaction() as tx:
            tx.send(topic, "kept", partition=0)
    seen(broker_address, topic, [b"kept"])


def test_asyncio(broker_address: str, make_topic: Callable[..., str], topic_name: str) -> None:
    source, target = make_topic(), make_topic()
    written = fill(broker_address, source, 20)
    config = ProducerConfig(bootstrap_servers=[broker_address], linger_ms=0)

    async def move() -> None:
        async with (
            AsyncConsumer(reader_config(broker_address, topic_name)) as consumer,
            AsyncTransactionalProducer(config, transactional_id=f"id-{topic_name}") as producer,
        ):
            await consumer.subscribe([source])
            moved, failed = 0, False
            while moved < len(written):
                messages = await consumer.poll(1000)
                try:
                    async with producer.transaction() as tx:
                        for message in messages:
                            await tx.enqueue(target, message.value, partition=0)
                        await tx.commit_offsets(consumer)
                        if messages and not failed:
                            failed = True
                            raise ConnectionError
                except ConnectionError:
                    await consumer.rewind()
                else:
                    moved += len(messages)
            assert failed

            async def never_ends() -> None:
                async with producer.transaction() as tx:
                    await tx.send(target, "cancelled", partition=0)
                    sent.set()
                    await asyncio.Event().wait()

            sent = asyncio.Event()
            task = asyncio.create_task(never_ends())
            await sent.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            async with producer.transaction() as tx:
                await tx.send(target, "after", partition=0)

    asyncio.run(move())
    assert group_offset(broker_address, topic_name, source) == len(written)
    seen(broker_address, target, [*written, b"after"])


def test_without_an_id_there_are_none(broker_address: str) -> None:
    config = ProducerConfig(bootstrap_servers=[broker_address])
    with Producer(config) as producer, pytest.raises(UsageError, match="transactional_id"):
        producer.transaction()


def test_a_consumer_that_commits_by_itself_is_refused(
    broker_address: str, topic_name: str, transactional: Callable[..., Any]
) -> None:
    config = ConsumerConfig(bootstrap_servers=[broker_address], group_id=topic_name)
    with Consumer(config) as consumer, transactional() as producer:

        def commit() -> None:
            with producer.transaction() as tx:
                tx.commit_offsets(consumer)

        with pytest.raises(UsageError, match="enable_auto_commit=False"):
            commit()


def test_the_loop_of_the_docs(broker_address: str) -> None:
    (loop,) = [each for each in examples(needs_group=True) if "commit_offsets" in each.code]
    loop.run(broker_address)
    eventually(lambda: len(values(broker_address, "invoices")) >= 10)
