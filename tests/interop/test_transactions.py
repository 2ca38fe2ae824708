"""Transactions with librdkafka, and what Apache Kafka's tools see of them."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from tests.interop.broker_process import BrokerProcess
from tests.interop.waiting import eventually

DUMP = "org.apache.kafka.tools.DumpLogSegments"
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
PATIENCE_S = 30


@pytest.fixture
def topic(make_topic: Callable[..., str]) -> str:
    return make_topic(partitions=3)


@pytest.fixture
def producer(broker_address: str, topic: str) -> Producer:
    made = Producer({"bootstrap.servers": broker_address, "transactional.id": f"writer-of-{topic}"})
    made.init_transactions(PATIENCE_S)
    return made


def write(producer: Producer, topic: str, values: list[str], *, commit: bool) -> None:
    producer.begin_transaction()
    for number, value in enumerate(values):
        producer.produce(topic, value=value, partition=number % 3)
    producer.flush(PATIENCE_S)
    if commit:
        producer.commit_transaction(PATIENCE_S)
    else:
        producer.abort_transaction(PATIENCE_S)


def read(broker_address: str, topic: str, isolation: str = "read_committed") -> Iterator[str]:
    """From the beginning to the end, as it is now."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker_address,
            "group.id": "reader",
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(topic, index, 0) for index in range(3)])
    at_end: set[int] = set()
    while len(at_end) < 3:
        message = consumer.poll(PATIENCE_S)
        assert message is not None, "nothing comes"
        if message.error() is None:
            yield message.value().decode()
        else:
            assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
            at_end.add(message.partition())
    consumer.close()


def test_what_is_committed_is_read_and_what_is_aborted_is_not(
    broker_address: str, producer: Producer, topic: str
) -> None:
    written = [[f"{number}-{part}" for part in range(9)] for number in range(4)]
    for number, values in enumerate(written):
        write(producer, topic, values, commit=number % 2 == 0)
    eventually(lambda: sorted(read(broker_address, topic)) == sorted(written[0] + written[2]))
    everything = [value for values in written for value in values]
    assert sorted(read(broker_address, topic, "read_uncommitted")) == sorted(everything)


def test_a_newer_producer_fences_an_older(broker_address: str, producer: Producer, topic: str) -> None:
    producer.begin_transaction()
    producer.produce(topic, value="lost", partition=0)
    producer.flush(PATIENCE_S)
    heir = Producer({"bootstrap.servers": broker_address, "transactional.id": f"writer-of-{topic}"})
    heir.init_transactions(PATIENCE_S)
    with pytest.raises(KafkaException) as refused:
        producer.commit_transaction(PATIENCE_S)
    assert refused.value.args[0].code() == KafkaError._FENCED
    write(heir, topic, ["kept"], commit=True)
    eventually(lambda: list(read(broker_address, topic)) == ["kept"])


def test_offsets_go_with_the_output(
    broker_address: str, producer: Producer, topic: str, make_topic: Callable[..., str]
) -> None:
    source, group = make_topic(partitions=1), f"group-of-{topic}"
    plain = Producer({"bootstrap.servers": broker_address})
    for number in range(10):
        plain.produce(source, value=str(number), partition=0)
    plain.flush(PATIENCE_S)
    reader = Consumer(
        {
            "bootstrap.servers": broker_address,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    reader.subscribe([source])
    where = [TopicPartition(source, 0)]
    for commit in (False, True):
        messages = reader.consume(10, PATIENCE_S)
        assert len(messages) == 10
        producer.begin_transaction()
        for message in messages:
            producer.produce(topic, value=message.value(), partition=0)
        producer.send_offsets_to_transaction(
            reader.position(where), reader.consumer_group_metadata(), PATIENCE_S
        )
        if commit:
            producer.commit_transaction(PATIENCE_S)
            assert reader.committed(where, PATIENCE_S)[0].offset == 10
        else:
            producer.abort_transaction(PATIENCE_S)
            assert reader.committed(where, PATIENCE_S)[0].offset < 0
            reader.seek(TopicPartition(source, 0, 0))
    reader.close()
    eventually(lambda: list(read(broker_address, topic)) == [str(number) for number in range(10)])


def test_kafkas_tools_read_the_files(
    broker: BrokerProcess, producer: Producer, topic: str, open_client: Callable[[str], Any]
) -> None:
    java = open_client("java")
    write(producer, topic, ["a", "b", "c"], commit=True)
    write(producer, topic, ["d"], commit=False)
    name = f"writer-of-{topic}"
    files = [str(path) for path in Path(broker.data).glob("__transaction_state-*/*.log")]

    def states() -> list[str]:
        printed = java.tool(DUMP, "--transaction-log-decoder", "--files", ",".join(files))
        mine = [line for line in printed.splitlines() if f'"transactionalId":"{name}"' in line]
        return [match.group(1) for line in mine if (match := re.search(r'"transactionStatus":(\d)', line))]

    eventually(lambda: states()[-3:] == ["1", "3", "5"])
    index = Path(broker.data) / f"{topic}-0" / "00000000000000000000.txnindex"
    printed = java.tool(DUMP, "--files", str(index))
    assert "firstOffset: 2 lastOffset: 3 lastStableOffset: 4" in printed


def test_kafka_transactions(
    broker_address: str, producer: Producer, topic: str, open_client: Callable[[str], Any]
) -> None:
    java, name = open_client("java"), f"writer-of-{topic}"
    producer.begin_transaction()
    producer.produce(topic, value="v", partition=1)
    producer.flush(PATIENCE_S)

    def tool(*arguments: str) -> str:
        return str(java.tool(TRANSACTIONS, "--bootstrap-server", broker_address, *arguments))

    assert re.search(rf"{name}\s+\d+\s+\d+\s+Ongoing", tool("list"))
    assert f"{topic}-1" in tool("describe", "--transactional-id", name)
    assert "CurrentTransactionStartOffset" in tool("describe-producers", "--topic", topic, "--partition", "1")
    tool("abort", "--topic", topic, "--partition", "1", "--start-offset", "0")
    assert list(read(broker_address, topic)) == []
