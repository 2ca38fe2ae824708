"""Rows a second from a topic into tables of each format, beside Spark's own Parquet sink.

    .venv/bin/python -m benches.spark_lake [--rows 4000000] [--bytes 100] [--cores 2] [--headers]

A broker in this process, one topic of four partitions, read by `format("tidelog")` with Trigger.AvailableNow.
The first batch of each run warms Spark up and is left out; the others are counted from trigger to trigger.
"""

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tidelog.spark.engine.session import spark_session
from tidelog.testing import Broker

PARTITIONS = 4
TOPIC = "events"
BATCHES = 5


def fill(broker: Broker, rows: int, size: int) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(60)
    settings = {"linger.ms": 20, "batch.size": 1_000_000, "queue.buffering.max.messages": 2_000_000}
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, **settings})
    block = os.urandom(1 << 20)
    for number in range(rows):
        start = (number * 37) % ((1 << 20) - size)
        while True:
            try:
                producer.produce(TOPIC, block[start : start + size], str(number), number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush()


def measure(spark: Any, broker: Broker, sink: str, folder: Path, *, rows: int, with_headers: bool) -> float:
    reader = spark.readStream.format("tidelog").option("kafka.bootstrap.servers", broker.bootstrap_servers)
    reader = reader.option("subscribe", TOPIC).option("startingOffsets", "earliest")
    reader = reader.option("includeHeaders", str(with_headers).lower())
    frame = reader.option("maxOffsetsPerTrigger", rows // BATCHES).load().drop("topic", "timestampType")
    path = folder / f"{sink}-{with_headers}"
    writer = frame.writeStream.option("path", str(path)).option(
        "checkpointLocation", str(path) + "-checkpoint"
    )
    if sink == "spark parquet":
        writer = writer.format("parquet").option("compression", "zstd")
    else:
        writer = writer.format("tidelog_lake").option("tableFormat", sink)
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    counted = [progress for progress in query.recentProgress if progress["numInputRows"]][1:]
    seconds = sum(progress["durationMs"]["triggerExecution"] for progress in counted) / 1000
    shutil.rmtree(path, ignore_errors=True)
    return float(sum(progress["numInputRows"] for progress in counted) / seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--bytes", type=int, default=100)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--formats", default="delta,iceberg,parquet,spark parquet")
    parser.add_argument("--headers", action="store_true", help="also with the column headers")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, Broker() as broker:
        began = time.monotonic()
        fill(broker, given.rows, given.bytes)
        print(f"{given.rows:,} records of {given.bytes} bytes written in {time.monotonic() - began:.0f} s")
        spark = spark_session("bench", master=f"local[{given.cores}]")
        for with_headers in (False, True) if given.headers else (False,):
            for sink in given.formats.split(","):
                rate = measure(spark, broker, sink, Path(name), rows=given.rows, with_headers=with_headers)
                kind = f"{sink}{', with headers' if with_headers else ''}"
                print(f"{kind:30} {rate / 1e6:6.2f} M rows/s")
        spark.stop()


if __name__ == "__main__":
    main()
