"""Streams from a real broker: limits, restarts, growth, loss, and brokers that go away under the query."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient

from tests.spark.broker_topics import Topics
from tests.spark.kafka_connector import NoConnector, connector_jars
from tidelog.testing import Broker

WAIT_S = 100


@pytest.fixture(autouse=True)
def no_query_is_left(spark: Any) -> Iterator[None]:
    yield
    for query in spark.streams.active:
        query.stop()


def wait_until(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not what():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)


def to_table(frame: Any, directory: Path, name: str, **trigger: Any) -> Any:
    """Files and a checkpoint: a query that goes on where it was, and rows that tell what came twice."""
    writer = frame.select("partition", "offset", "value").writeStream.format("parquet").queryName(name)
    writer = writer.option("path", str(directory / "rows")).option(
        "checkpointLocation", str(directory / "state")
    )
    return writer.trigger(**trigger).start() if trigger else writer.start()


def rows_of(query: Any) -> int:
    """Read so far; a query that failed says why."""
    if query.exception() is not None:
        raise query.exception()
    return sum(progress.numInputRows for progress in query.recentProgress)


def table(spark: Any, directory: Path) -> list[tuple[int, int]]:
    found = spark.read.parquet(str(directory / "rows")).select("partition", "offset").collect()
    return sorted(tuple(row) for row in found)


def test_available_now_restarts_and_new_partitions(
    spark: Any, broker: Broker, topics: Topics, source: Callable[..., Any], tmp_path: Path
) -> None:
    name = topics.create(2)
    for partition in range(2):
        topics.fill(name, [b"x"] * 500, partition=partition)

    def run() -> Any:
        frame = source(
            stream=True,
            subscribe=name,
            startingOffsets="earliest",
            maxOffsetsPerTrigger=600,
            commitOffsets="true",
            kafka__group__id=f"{name}-progress",
        )
        query = to_table(frame, tmp_path, "restarted", availableNow=True)
        assert query.awaitTermination(WAIT_S)
        return query

    first = run()
    progress = [each for each in first.recentProgress if each.numInputRows]
    assert [each.numInputRows for each in progress] == [600, 400]
    assert json.loads(progress[0].sources[0].endOffset)[name] == {"0": 300, "1": 300}
    assert json.loads(progress[0].sources[0].latestOffset)["@lag"] == 400

    topics.grow(name, 3)
    topics.fill(name, [b"y"] * 10, partition=0)
    topics.fill(name, [b"y"] * 7, partition=2)
    run()
    expected = {0: 510, 1: 500, 2: 7}
    assert table(spark, tmp_path) == [
        (part, offset) for part, end in expected.items() for offset in range(end)
    ]

    group = [ConsumerGroupTopicPartitions(f"{name}-progress")]
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    (told,) = admin.list_consumer_group_offsets(group).values()
    assert {each.partition: each.offset for each in told.result(30).topic_partitions} == expected


def test_a_broker_that_restarts_and_one_that_stays_away(spark: Any, tmp_path: Path) -> None:
    with Broker() as broker:
        name = Topics(broker).create()
        Topics(broker).fill(name, [b"x"] * 100)

        def start(patience: str) -> Any:
            reader = spark.readStream.format("tidelog").option("subscribe", name)
            reader = reader.option("kafka.bootstrap.servers", broker.bootstrap_servers)
            reader = reader.option("kafka.default.api.timeout.ms", patience)
            return to_table(reader.option("startingOffsets", "earliest").load(), tmp_path, "moved")

        query = start("60s")
        wait_until(lambda: rows_of(query) == 100)
        broker.restart()
        Topics(broker).fill(name, [b"y"] * 50)
        wait_until(lambda: rows_of(query) == 150)
        query.stop()

        query = start("2s")
        Topics(broker).fill(name, [b"z"] * 10)
        wait_until(lambda: rows_of(query) == 10)
    with pytest.raises(Exception, match="no broker answered within 2 s"):
        query.awaitTermination(WAIT_S)
    assert table(spark, tmp_path) == [(0, offset) for offset in range(160)]


def test_a_topic_deleted_and_created_again(
    spark: Any, topics: Topics, source: Callable[..., Any], tmp_path: Path
) -> None:
    name = topics.create()
    topics.fill(name, [b"old"] * 20)

    def start(fails: str) -> Any:
        frame = source(stream=True, subscribe=name, startingOffsets="earliest", failOnDataLoss=fails)
        return to_table(frame, tmp_path, f"loss-{fails}")

    query = start("true")
    wait_until(lambda: rows_of(query) == 20)
    topics.delete(name)
    with pytest.raises(Exception, match=f"{name}-0: the partition does not exist any more"):
        query.awaitTermination(WAIT_S)

    topics.create(name=name)
    topics.fill(name, [b"new"] * 30)
    with pytest.raises(Exception, match=f"{name}.*(deleted and created again|does not exist any more)"):
        start("true").awaitTermination(WAIT_S)
    tolerant = start("false")
    wait_until(lambda: rows_of(tolerant) == 30)
    tolerant.stop()
    assert len(table(spark, tmp_path)) == 50


def test_a_query_moves_from_the_jvm_connector_with_its_checkpoint(
    spark: Any, topics: Topics, source: Callable[..., Any], tmp_path: Path
) -> None:
    try:
        connector_jars()
    except NoConnector as error:
        pytest.skip(str(error))
    name = topics.create(2)
    for format in ("kafka", "tidelog"):
        topics.fill(name, [b"x"] * 20, partition=1)
        frame = source(stream=True, format=format, subscribe=name, startingOffsets="earliest")
        query = to_table(frame, tmp_path, "moving", availableNow=True)
        assert query.awaitTermination(WAIT_S)
        assert rows_of(query) == 20
    assert table(spark, tmp_path) == [(1, offset) for offset in range(40)]
