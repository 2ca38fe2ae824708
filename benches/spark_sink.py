"""Rows a second that Spark writes to a topic, at least once and exactly once.

    python -m benches.spark_sink [--rounds N] [--rows N]

Spark runs in local[2] beside one broker with durability `os`, which shares its cores; the topic has six
partitions. A row is 100 bytes: a value alone, or a key of 10 bytes and a value of 90, parted by the key. Rows
are made by Spark as they are written; "taken by a Python worker" is the same with a sink that does nothing.
Every figure is the median of its rounds, which alternate; the first round warms up and does not count.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from statistics import median

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from benches.rig.broker_process import BrokerProcess
from benches.rig.frames import create_topic, delete_topic, end_offset
from benches.rig.report import machine, show
from tidelog.spark.engine.session import spark_session

PARTITIONS, TASKS = 6, 4
TOPIC = "bench"
VALUES = "rpad(CAST(id AS STRING), 100, 'x') AS value"
KEYED = ("lpad(CAST(id AS STRING), 10, '0') AS key", "rpad(CAST(id AS STRING), 90, 'x') AS value")


def taken(rows: DataFrame) -> None:
    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"rows": [sum(batch.num_rows for batch in batches)]})

    rows.mapInArrow(count, "rows long").collect()


def written(rows: DataFrame, broker: BrokerProcess, delivery: str) -> None:
    (
        rows.write.format("tidelog")
        .option("kafka.bootstrap.servers", f"127.0.0.1:{broker.port}")
        .option("topic", TOPIC)
        .option("delivery", delivery)
        .mode("append")
        .save()
    )


def timed(run: Callable[[], None]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def write_and_check(rows: DataFrame, broker: BrokerProcess, delivery: str, count: int) -> float:
    create_topic(broker.address, TOPIC, PARTITIONS)
    seconds = timed(lambda: written(rows, broker, delivery))
    found = sum(end_offset(broker.address, TOPIC, index) for index in range(PARTITIONS))
    if found < count:
        raise RuntimeError(f"{found} of {count} rows are in the topic")
    delete_topic(broker.address, TOPIC)
    return seconds


def measure(spark: SparkSession, broker: BrokerProcess, rows: int, rounds: int) -> None:
    shapes = {
        "values of 100 bytes": spark.range(rows, numPartitions=TASKS).selectExpr(VALUES),
        "keys of 10 and values of 90 bytes": spark.range(rows, numPartitions=TASKS).selectExpr(*KEYED),
    }
    goals = {"at-least-once": 0.8, "exactly-once": 0.5}
    times: dict[tuple[str, str], list[float]] = {}
    for number in range(rounds + 1):
        for shape, frame in shapes.items():
            found = {"taken by a Python worker": timed(lambda frame=frame: taken(frame))}  # type: ignore[misc]
            for delivery in goals:
                found[delivery] = write_and_check(frame, broker, delivery, rows)
            if number:
                for what, seconds in found.items():
                    times.setdefault((shape, what), []).append(seconds)
    for (shape, what), seconds in times.items():
        show(f"{shape}: {what}", rows / median(seconds) / 1e6, "M rows/s", at_least=goals.get(what))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=4_000_000)
    options = parser.parse_args()
    print(machine())
    settings = {"transaction.two.phase.commit.enable": "true"}
    spark = spark_session("bench", master="local[2]", settings={"spark.ui.enabled": "false"})
    try:
        with BrokerProcess(settings) as broker:
            measure(spark, broker, options.rows, options.rounds)
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
