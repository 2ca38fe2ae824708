"""DataFrames and streams written to topics: every column, every refusal, nothing of what failed."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.spark.read_back import committed, counted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.spark.conftest import Topics
    from tidelog.testing import Broker

Save = Callable[..., None]


@pytest.fixture
def save(broker: "Broker") -> Save:
    def write(rows: "DataFrame", mode: str = "append", **options: Any) -> None:
        writer = rows.write.format("tidelog").option("kafka.bootstrap.servers", broker.bootstrap_servers)
        for name, value in options.items():
            writer = writer.option(name.replace("__", "."), value)
        writer.mode(mode).save()

    return write


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
def test_every_column_arrives(
    spark: "SparkSession", broker: "Broker", topics: "Topics", save: Save, delivery: str
) -> None:
    one, two = topics.create(3), topics.create(1)
    schema = (
        "topic string, key binary, value string, partition int, "
        "headers array<struct<key:string,value:binary>>, other int"
    )
    rows = [
        (one, b"k", "v", 2, [("h", b"1"), ("h", None)], 1),
        (one, None, None, 1, None, 2),
        (two, b"", "", None, [], 3),
        (one, b"foobar", "by key", None, None, 4),
    ]
    save(spark.createDataFrame(rows, schema), delivery=delivery, kafka__compression__type="lz4")
    found = [
        (m.topic(), m.key(), m.value(), m.partition(), m.headers() or [])
        for name in (one, two)
        for m in committed(broker.bootstrap_servers, name)
    ]
    # murmur2("foobar") is -790332482, see the unit tests
    assert sorted(found, key=repr) == sorted(
        [
            (one, b"k", b"v", 2, [("h", b"1"), ("h", None)]),
            (one, None, None, 1, []),
            (two, b"", b"", 0, []),
            (one, b"foobar", b"by key", (-790332482 & 0x7FFFFFFF) % 3, []),
        ],
        key=repr,
    )


def test_what_cannot_be_written_is_said(spark: "SparkSession", topics: "Topics", save: Save) -> None:
    topic = topics.create()
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("SELECT 'a' AS key", {"topic": topic}, "there is no column value"),
        ("SELECT 1 AS value", {"topic": topic}, "column value is of type int, and must be string or binary"),
        ("SELECT 'a' AS value", {}, "set the option topic, or add a column topic"),
        ("SELECT 'a' AS value", {"topic": topic, "delivry": "x"}, "did you mean delivery?"),
        ("SELECT 'a' AS value", {"topic": topic, "mode": "overwrite"}, "cannot be overwritten"),
        ("SELECT 'a' AS value, CAST(NULL AS STRING) topic", {}, "a row has null for its topic"),
        ("SELECT 'a' AS value, 7 AS partition", {"topic": topic}, "names partition 7 of topic"),
        ("SELECT 'a' AS value", {"topic": "nowhere"}, "there is no topic nowhere; `tidelog topic create"),
    ]
    for query, options, told in cases:
        with pytest.raises(Exception, match=told.replace("?", r"\?").replace(" `", " `")):
            save(spark.sql(query), **options)


def test_a_failed_write_leaves_nothing_and_a_named_one_counts_once(
    spark: "SparkSession", broker: "Broker", topics: "Topics", save: Save
) -> None:
    topic = topics.create(2)
    exact = {"topic": topic, "delivery": "exactly-once"}
    good = spark.range(100, numPartitions=2).selectExpr("CAST(id AS STRING) value")
    bad = spark.range(100, numPartitions=2).selectExpr(
        "CAST(IF(id = 99, raise_error('no luck'), id) AS STRING) value"
    )
    with pytest.raises(Exception, match="no luck"):
        save(bad, **exact)
    assert not counted(broker.bootstrap_servers, topic)
    for version in (1, 1, 2, 1):
        save(good, **exact, txnAppId="nightly", txnVersion=version)
    save(good, **exact)
    assert counted(broker.bootstrap_servers, topic) == {str(number): 3 for number in range(100)}


def test_a_stream_is_written_at_least_once(
    spark: "SparkSession", broker: "Broker", topics: "Topics", tmp_path: Path
) -> None:
    topic = topics.create(2)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rows").write_text("\n".join(map(str, range(50))))
    rows = spark.readStream.format("text").load(str(tmp_path / "in"))
    query = (
        rows.selectExpr("value AS key", "value")
        .writeStream.format("tidelog")
        .option("kafka.bootstrap.servers", broker.bootstrap_servers)
        .option("topic", topic)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert counted(broker.bootstrap_servers, topic) == {str(number): 1 for number in range(50)}
