"""Batch reads of a real broker: the rows, the bounds, and what a user is told when something is wrong."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.spark.broker_topics import Topics
from tests.spark.kafka_connector import NoConnector, connector_jars
from tidelog.testing import Broker


def rows(frame: Any) -> list[Any]:
    return frame.orderBy("topic", "partition", "offset").collect()


def fill_with_everything(broker: Broker, topics: Topics) -> tuple[str, str]:
    """Every compression, nulls, empty and large fields, headers, two partitions; and a log-append topic."""
    mixed, appended = topics.create(2), topics.create(message_timestamp_type="LogAppendTime")
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        client = Producer(
            {"bootstrap.servers": broker.bootstrap_servers, "compression.type": codec, "linger.ms": 20}
        )
        for number in range(40):
            client.produce(
                mixed,
                key=None if number % 7 == 0 else b"k%d" % number,
                value=None if number % 11 == 0 else codec.encode() * (number * 30),
                partition=number % 2,
                headers=[("a", b"1"), ("a", None), ("", b"")] if number % 3 == 0 else None,
                timestamp=1_700_000_000_000 + number,
            )
        client.produce(appended, value=codec.encode(), timestamp=5)
        assert client.flush(60) == 0
    return mixed, appended


def test_reads_what_the_jvm_connector_reads(
    broker: Broker, topics: Topics, source: Callable[..., Any]
) -> None:
    names = ",".join(fill_with_everything(broker, topics))
    ours = source(subscribe=names, includeHeaders="true")
    found = rows(ours)
    assert len(found) == 205
    try:
        connector_jars()
    except NoConnector as error:
        pytest.skip(str(error))
    theirs = source(format="kafka", subscribe=names, includeHeaders="true")
    assert ours.schema == theirs.schema
    assert found == rows(theirs)


def test_bounds_splits_and_fewer_columns(broker: Broker, topics: Topics, source: Callable[..., Any]) -> None:
    name = topics.create(3)
    for partition in range(3):
        topics.fill(name, [b"%d" % number for number in range(1000)], partition=partition)
    frame = source(
        assign=f'{{"{name}":[0,2]}}',
        startingOffsets=f'{{"{name}":{{"0":10,"2":-2}}}}',
        endingOffsets=f'{{"{name}":{{"0":900,"2":-1}}}}',
        minPartitions=4,
        schema="partition int, offset bigint",
    )
    assert frame.rdd.getNumPartitions() == 4
    expected = [(0, offset) for offset in range(10, 900)] + [(2, offset) for offset in range(1000)]
    assert [tuple(row) for row in frame.orderBy("partition", "offset").collect()] == expected


def test_bounds_by_time(topics: Topics, source: Callable[..., Any]) -> None:
    name = topics.create()
    for moment in range(10):
        topics.fill(name, [b"x"], timestamp=1_000_000 + 1000 * moment)
    frame = source(subscribePattern=f"{name}|none", startingTimestamp=1_002_500, endingTimestamp=1_007_000)
    assert [row.offset for row in rows(frame)] == [3, 4, 5, 6]


def test_only_what_was_committed(broker: Broker, topics: Topics, source: Callable[..., Any]) -> None:
    name = topics.create()
    client = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": name})
    client.init_transactions(30)
    for number, ends in enumerate(
        (client.commit_transaction, client.abort_transaction, client.commit_transaction)
    ):
        client.begin_transaction()
        for _ in range(50):
            client.produce(name, value=b"%d" % number)
        assert client.flush(30) == 0  # an abort would forget what is still to be sent
        ends(30)
    client.begin_transaction()
    client.produce(name, value=b"open")
    assert client.flush(30) == 0
    committed = rows(source(subscribe=name, kafka__isolation__level="read_committed"))
    assert [bytes(row.value) for row in committed] == [b"0"] * 50 + [b"2"] * 50
    assert source(subscribe=name).count() == 151
    client.abort_transaction(30)


def test_records_that_aged_out(topics: Topics, source: Callable[..., Any]) -> None:
    name = topics.create()
    topics.fill(name, [b"x"] * 20)
    topics.cut(name, 0, 15)
    begin = f'{{"{name}":{{"0":3}}}}'
    assert source(subscribe=name, startingOffsets=begin, failOnDataLoss="false").count() == 5
    with pytest.raises(Exception, match="offsets 3 to 14 are not there any more"):
        source(subscribe=name, startingOffsets=begin).count()


def test_mistakes_are_told_by_load(source: Callable[..., Any]) -> None:
    with pytest.raises(Exception, match=r"no option startingoffset; did you mean startingOffsets\?"):
        source(subscribe="t", startingOffset="earliest")
    with pytest.raises(
        Exception, match=r"there is no topic nothing-here\. Try: tidelog topic create nothing-here"
    ):
        source(subscribe="nothing-here").count()
    with pytest.raises(Exception, match="asks for column value as string, but it is binary"):
        source(subscribe="t", schema="key binary, value string").count()


def test_brokers_that_cannot_be_reached(spark: Any) -> None:
    reader = spark.read.format("tidelog").option("kafka.bootstrap.servers", "localhost:1")
    frame = reader.option("subscribe", "t").option("kafka.default.api.timeout.ms", "1500").load()
    began = time.monotonic()
    with pytest.raises(Exception, match=r"no broker answered within 1\.5 s \(localhost:1: .*refused"):
        frame.count()
    assert time.monotonic() - began < 60
