"""Transactions of the Python client: a `with` block that commits or aborts, and offsets that go with it."""

from collections.abc import Callable
from typing import Any

import pytest

from tidelog import (
    Admin,
    AdminConfig,
    Consumer,
    ConsumerConfig,
    IsolationLevel,
    OffsetAndMetadata,
    OffsetResetPolicy,
    Producer,
    ProducerConfig,
    ProducerFenced,
    TopicPartition,
    UsageError,
)


@pytest.fixture
def transactional(broker_address: str, topic_name: str) -> Callable[[], Producer[Any, Any]]:
    return lambda: Producer(
        ProducerConfig(bootstrap_servers=[broker_address], transactional_id=f"id-{topic_name}")
    )


def values(address: str, topic: str, level: IsolationLevel, count: int) -> list[bytes | None]:
    config = ConsumerConfig(
        bootstrap_servers=[address], auto_offset_reset=OffsetResetPolicy.EARLIEST, isolation_level=level
    )
    with Consumer(config) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        found: list[bytes | None] = []
        for _ in range(100):
            found += [message.value for message in consumer.poll(200)]
            if len(found) >= count:
                break
        return found + [message.value for message in consumer.poll(500)]


def test_a_block_commits_or_leaves_nothing(
    broker_address: str, topic: str, transactional: Callable[[], Producer[Any, Any]]
) -> None:
    with transactional() as producer:
        with producer.transaction():
            producer.send(topic, "kept", partition=0)

        def fail() -> None:
            with producer.transaction():
                producer.send(topic, "dropped", partition=0).result(20)
                raise KeyError

        with pytest.raises(KeyError):
            fail()
        with producer.transaction():
            producer.send(topic, "kept too", partition=0)
    assert values(broker_address, topic, IsolationLevel.READ_COMMITTED, 2) == [b"kept", b"kept too"]
    assert values(broker_address, topic, IsolationLevel.READ_UNCOMMITTED, 3) == [
        b"kept",
        b"dropped",
        b"kept too",
    ]


def test_offsets_go_with_the_transaction(
    broker_address: str,
    make_topic: Callable[..., str],
    topic_name: str,
    transactional: Callable[[], Producer[Any, Any]],
) -> None:
    source, target = make_topic(), make_topic()
    with Producer(ProducerConfig(bootstrap_servers=[broker_address])) as producer:
        for word in ("a", "b", "c"):
            producer.send(source, word, partition=0)
    config = ConsumerConfig(
        bootstrap_servers=[broker_address],
        group_id=topic_name,
        auto_offset_reset=OffsetResetPolicy.EARLIEST,
        enable_auto_commit=False,
    )
    with Consumer(config) as consumer, transactional() as producer:
        consumer.subscribe([source])
        moved = 0
        while moved < 3:
            messages = consumer.poll(1000)
            with producer.transaction() as transaction:
                for message in messages:
                    producer.send(target, message.value, partition=0)
                if messages:
                    transaction.send_offsets(consumer)
            moved += len(messages)
    with Admin(AdminConfig(bootstrap_servers=[broker_address])) as admin:
        assert admin.group_offsets(topic_name) == {TopicPartition(source, 0): OffsetAndMetadata(3)}
    assert values(broker_address, target, IsolationLevel.READ_COMMITTED, 3) == [b"a", b"b", b"c"]


def test_a_newer_producer_fences_the_older(
    topic: str, transactional: Callable[[], Producer[Any, Any]]
) -> None:
    with transactional() as older, transactional() as newer:
        with older.transaction():
            older.send(topic, "x", partition=0)
        with newer.transaction():
            newer.send(topic, "y", partition=0)

        def again() -> None:
            with older.transaction():
                older.send(topic, "z", partition=0).result(20)

        with pytest.raises(ProducerFenced) as caught:
            again()
        assert caught.value.fatal


def test_without_an_id_there_are_none(broker_address: str) -> None:
    with (
        Producer(ProducerConfig(bootstrap_servers=[broker_address])) as producer,
        pytest.raises(UsageError, match="transactional_id"),
    ):
        producer.transaction()
