"""Topics as tables: bit by bit, exact through a crash, with values decoded, kept or sent to another topic."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tidelog.spark.lake.sync import OnBad, Sync, build_sync, open_synced_table
from tidelog.spark.pipeline.run import Run
from tidelog.spark.pipeline.spec import Source
from tidelog.spark.values.value_decoding import load_decoding

pytestmark = pytest.mark.timeout(600)

DDL = "id BIGINT, amount DOUBLE"


def order(number: int) -> bytes:
    return json.dumps({"id": number, "amount": number / 2}).encode()


def run_sync(spark, sync: Sync, checkpoint: Path) -> None:
    built = build_sync(spark, sync)
    open_synced_table(sync, built.queries[0].frame)
    run = Run(str(checkpoint), once=True, show=lambda *_: None)
    run.start(built)
    run.until_done(lambda: False, lambda _: None)


def rows_of(sync: Sync) -> list[dict]:
    rows = DeltaTable(sync.path).to_pyarrow_table().to_pylist()
    return sorted(rows, key=lambda row: (row["partition"], row["offset"]))


def test_a_topic_becomes_a_table_bit_by_bit(spark, broker, topics, tmp_path):
    topic = topics.create(partitions=2)
    topics.fill(topic, [order(1), b"no JSON"], partition=0, key=b"k", headers=[("h", b"1")])
    topics.fill(topic, [order(2), None], partition=1)
    decoding = load_decoding("json", schema=DDL)
    sync = Sync(
        topic,
        str(tmp_path / "table"),
        "delta",
        broker.bootstrap_servers,
        partition_by=("date",),
        decoding=decoding,
        on_bad=OnBad.KEEP,
    )
    run_sync(spark, sync, tmp_path / "checkpoint")
    first = rows_of(sync)
    assert [(row["partition"], row["offset"], row["id"], row["amount"]) for row in first] == [
        (0, 0, 1, 0.5),
        (0, 1, None, None),
        (1, 0, 2, 1.0),
        (1, 1, None, None),
    ]
    assert [row["decode_error"] for row in first] == [None, "not JSON of the schema", None, None]
    assert [row["value"] for row in first] == [order(1), b"no JSON", order(2), None]
    assert first[0]["key"] == b"k"
    assert first[0]["headers"] == [{"key": "h", "value": b"1"}]
    assert first[0]["date"] == first[0]["timestamp"].date()
    topics.fill(topic, [order(3)], partition=0)
    run_sync(spark, sync, tmp_path / "checkpoint")
    # As if Spark had died before it noted that the batch is done.
    for path in (tmp_path / "checkpoint" / "table" / "commits").glob("*1*"):
        path.unlink()
    run_sync(spark, sync, tmp_path / "checkpoint")
    assert [(row["partition"], row["offset"]) for row in rows_of(sync)] == [
        (0, 0),
        (0, 1),
        (0, 2),
        (1, 0),
        (1, 1),
    ]


def test_what_does_not_decode_fails_or_goes_to_another_topic(spark, broker, topics, tmp_path):
    topic, bad = topics.create(), topics.create()
    topics.fill(topic, [order(1), b"no JSON", order(2)])
    source = Source(topic=topic, decode="json", schema=DDL, dead_letter=bad)
    strict = Sync(
        topic,
        str(tmp_path / "table"),
        "delta",
        broker.bootstrap_servers,
        columns=("offset", "partition"),
        source=source,
        decoding=load_decoding("json", schema=DDL),
    )
    with pytest.raises(Exception, match=rf"cannot take {topic}\[0\] offset 1"):
        run_sync(spark, strict, tmp_path / "strict")
    run_sync(spark, replace(strict, on_bad=OnBad.DEAD_LETTER), tmp_path / "checkpoint")
    assert [row["id"] for row in rows_of(strict)] == [1, 2]
    reader = spark.read.format("tidelog").option("kafka.bootstrap.servers", broker.bootstrap_servers)
    reader = reader.option("kafka.isolation.level", "read_committed").option("subscribe", bad)
    assert [bytes(row.value) for row in reader.load().collect()] == [b"no JSON"]


def test_the_command_ends_with_a_table_that_is_up_to_date(broker, topics, tmp_path):
    topic = topics.create()
    topics.fill(topic, [order(number) for number in range(100)])
    command = [sys.executable, "-m", "tidelog.cli.main", "-b", broker.bootstrap_servers, "--json"]
    wish = ["lake", "sync", topic, "--to", str(tmp_path / "table"), "--columns", "value,offset,partition"]
    wish += ["--metrics-port", "0"]
    done = subprocess.run([*command, *wish], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[0])["url"].startswith("http://localhost:")
    last = json.loads(done.stdout.splitlines()[-1])
    assert (last["event"], last["records"]) == ("finished", 100)
    assert DeltaTable(str(tmp_path / "table")).to_pyarrow_table().num_rows == 100
