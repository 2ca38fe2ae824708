"""Rows a second that Spark reads from topics: our source, beside the Kafka connector of the JVM.

    python -m benches.spark_source [--rounds N] [--rows N] [--batch-bytes N] [--codec none|lz4|zstd]
                                   [--windowed ROWS]

Spark runs in local[2] beside one broker, which shares its cores. A record has a key of 10 bytes and a value
of 90. Every way reads the same topic into `count()`; rounds alternate between the ways, the first warms up,
and figures are medians. The connector comes from Maven on first use; without it, it is left out. CPU is that
of Spark's JVM and its Python workers, which a busy machine does not change much. Planning a query costs two
seconds of it, so with few rows that is what is measured.

`--windowed` counts by window and key over so many records as a stream, and reports the largest memory of the
JVM and of the Python workers on the way; 100000000 needs 12 GB of disk.
"""

import argparse
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

import numpy as np
import psutil
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import window

from benches.rig.broker_process import BrokerProcess, work_folder
from benches.rig.frames import create_topic
from benches.rig.report import machine, show
from tests.spark.kafka_connector import connector_jars
from tidelog.blocking.cluster import Cluster, TopicPartition
from tidelog.blocking.settings import ClusterSettings
from tidelog.spark.engine.session import spark_session
from tidelog.spark.records.batch_encoding import Columns, encode
from tidelog.spark.records.engines import NUMBA, NUMPY
from tidelog.wire.compression import Codec
from tidelog.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

PARTITIONS = 4
KEYS = 1000
FILL_ROWS = 100_000
FIRST_TIME_MS = 1_700_000_000_000
ROWS_PER_MS = 20
WINDOW_S = 10
ROWS_PER_WINDOW = WINDOW_S * 1000 * ROWS_PER_MS // KEYS
"""Of each key; the first window begins with the first record."""
SEGMENT_BYTES = 32 << 20
BY_NAME = 12
REQUESTS_AHEAD = 4
GOAL, GOAL_OF_JVM = 2.0, 0.8
JVM = "JVM connector"
WAYS = {
    JVM: ("kafka", {}),
    "network, numpy": ("tidelog", {"decoder": NUMPY}),
    "network, numba": ("tidelog", {"decoder": NUMBA}),
    "segments, numpy": ("tidelog", {"decoder": NUMPY, "read.path": "segments"}),
    "segments, numba": ("tidelog", {"decoder": NUMBA, "read.path": "segments"}),
}


def fill(broker: BrokerProcess, topic: str, rows: int, codec: Codec, batch_bytes: int) -> None:
    """Records with ascending times, spread evenly over the partitions."""
    create_topic(broker.address, topic, PARTITIONS)
    with Cluster(ClusterSettings((f"127.0.0.1:{broker.port}",))) as cluster:
        connection = cluster.connection(cluster.leader(TopicPartition(topic, 0)))
        ahead = 0
        for first in range(0, rows, FILL_ROWS):
            numbers = np.arange(first, min(first + FILL_ROWS, rows))
            columns = Columns(
                pa.array([b"%010d" % key for key in numbers % KEYS]),
                pa.array([b"%090d" % number for number in numbers]),
            )
            partition = first // FILL_ROWS % PARTITIONS
            times = FIRST_TIME_MS + numbers // ROWS_PER_MS
            for encoded in encode(columns, times, codec=codec, batch_bytes_max=batch_bytes):
                data = PartitionProduceData(index=partition, records=encoded.batch)
                request = ProduceRequest(
                    acks=1,
                    timeout_ms=30_000,
                    topic_data=[TopicProduceData(name=topic, partition_data=[data])],
                )
                connection.send(request, at_most=BY_NAME)
                ahead += 1
                if ahead > REQUESTS_AHEAD:
                    check(connection.receive())
                    ahead -= 1
        for _ in range(ahead):
            check(connection.receive())


def check(answer: object) -> None:
    [topic] = answer.responses  # type: ignore[attr-defined]
    if topic.partition_responses[0].error_code:
        raise RuntimeError(f"the broker refused a batch: {topic.partition_responses[0]}")


def table(spark: SparkSession, broker: BrokerProcess, topic: str, way: str) -> DataFrame:
    name, options = WAYS[way]
    reader = spark.read.format(name).option("kafka.bootstrap.servers", f"127.0.0.1:{broker.port}")
    return reader.options(**options).option("subscribe", topic).load()


def of_spark() -> list[psutil.Process]:
    """The JVM, and the Python workers that it started."""
    return psutil.Process().children(recursive=True)


def cpu_seconds(broker: BrokerProcess) -> float:
    total = 0.0
    for process in of_spark():
        if process.pid != broker.process.pid:
            try:
                times = process.cpu_times()
                total += times.user + times.system
            except psutil.NoSuchProcess:
                pass
    return total


def measure(
    spark: SparkSession, broker: BrokerProcess, *, rows: int, rounds: int, ways: list[str], topic: str
) -> dict[str, float]:
    """Median seconds of each way."""
    times: dict[str, list[float]] = {way: [] for way in ways}
    cpu: dict[str, list[float]] = {way: [] for way in ways}
    of_broker: dict[str, list[float]] = {way: [] for way in ways}
    for number in range(rounds + 1):
        for way in ways:
            frame = table(spark, broker, topic, way)
            began, cpu_began, broker_began = time.perf_counter(), cpu_seconds(broker), broker.cpu_seconds()
            found = frame.count()
            seconds = time.perf_counter() - began
            if found != rows:
                raise RuntimeError(f"{way}: {found} rows of {rows}")
            if number:
                times[way].append(seconds)
                cpu[way].append(cpu_seconds(broker) - cpu_began)
                of_broker[way].append(broker.cpu_seconds() - broker_began)
    for way in ways:
        goal = None if way == JVM else GOAL
        show(f"{way}: into count", rows / median(times[way]) / 1e6, "M rows/s", at_least=goal)
        show(f"{way}: CPU of Spark", median(cpu[way]) / rows * 1e6, "s/M rows")
        show(f"{way}: CPU of the broker", median(of_broker[way]) / rows * 1e6, "s/M rows")
    medians = {way: median(found) for way, found in times.items()}
    if JVM in medians:
        for way in ways:
            if way != JVM:
                ratio = medians[JVM] / medians[way]
                show(f"{way}: against the JVM connector", ratio, "times", at_least=GOAL_OF_JVM)
    return medians


@contextmanager
def watching_memory(broker: BrokerProcess) -> Iterator[Callable[[], tuple[float, float]]]:
    """Gives a function that says the largest (JVM, Python workers) so far, in MB."""
    largest = [0.0, 0.0]
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.25):
            now = [0, 0]
            for process in of_spark():
                try:
                    if process.pid != broker.process.pid:
                        # What workers share with the process they were forked from counts once.
                        now["java" not in process.name()] += process.memory_full_info().pss
                except psutil.NoSuchProcess:
                    pass
            largest[:] = (max(largest[kind], now[kind] / 1e6) for kind in (0, 1))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield lambda: (largest[0], largest[1])
    finally:
        done.set()
        watcher.join()


def windowed(spark: SparkSession, broker: BrokerProcess, rows: int, topic: str) -> None:
    """Counts by ten seconds and key, as a stream in portions of five million, to its end."""
    stream = (
        spark.readStream.format("tidelog")
        .option("kafka.bootstrap.servers", f"127.0.0.1:{broker.port}")
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 5_000_000)
        .load()
    )
    # The partitions are filled in turns of FILL_ROWS, so their times are that far apart.
    counts = stream.withWatermark("timestamp", "60 seconds").groupBy(
        window("timestamp", f"{WINDOW_S} seconds"), "key"
    )
    closed, wrong = [0], [0]

    def add(batch: DataFrame, _: int) -> None:
        found = batch.selectExpr("count(*)", f"count_if(count != {ROWS_PER_WINDOW})").first()
        closed[0] += found[0] if found else 0
        wrong[0] += found[1] if found else 0

    with tempfile.TemporaryDirectory(dir=work_folder()) as checkpoint, watching_memory(broker) as largest:
        began = time.perf_counter()
        query = (
            counts.count()
            .writeStream.outputMode("append")
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .foreachBatch(add)
            .start()
        )
        query.awaitTermination()
        seconds = time.perf_counter() - began
        state = max((each["stateOperators"][0]["numRowsTotal"] for each in query.recentProgress), default=0)
        show(f"windows of {rows:,} records: rows", rows / seconds / 1e6, "M rows/s")
        show(f"windows of {rows:,} records: largest memory of the JVM", largest()[0], "MB")
        show(f"windows of {rows:,} records: largest memory of Python workers", largest()[1], "MB")
        closed_rows = closed[0] * ROWS_PER_WINDOW
        show(f"windows of {rows:,} records: counted in closed windows", closed_rows / 1e6, "M rows")
        show(f"windows of {rows:,} records: counts that are wrong", wrong[0], "", at_most=0)
        show(f"windows of {rows:,} records: windows and keys held at most", state / 1e3, "thousand")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--batch-bytes", type=int, default=256 * 1024)
    parser.add_argument("--codec", choices=["none", "gzip", "snappy", "lz4", "zstd"], default="none")
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=list(WAYS))
    parser.add_argument("--windowed", type=int, default=0, metavar="ROWS")
    options = parser.parse_args()
    print(machine())
    jars = connector_jars() if JVM in options.ways else []
    ways = [way for way in options.ways if way != JVM or jars]
    settings = {"spark.jars": ",".join(map(str, jars)), "spark.driver.memory": "2g"}
    codec = Codec[options.codec.upper()]
    # The records carry times long past, so that windows of them are the same in every run.
    keep = {"log.segment.bytes": str(SEGMENT_BYTES), "log.retention.ms": "-1"}
    with BrokerProcess(keep) as broker:
        spark = spark_session("bench", master="local[2]", settings=settings)
        try:
            if ways:
                fill(broker, "bench", options.rows, codec, options.batch_bytes)
                measure(spark, broker, rows=options.rows, rounds=options.rounds, ways=ways, topic="bench")
            if options.windowed:
                fill(broker, "windowed", options.windowed, codec, options.batch_bytes)
                windowed(spark, broker, options.windowed, "windowed")
        finally:
            spark.stop()


if __name__ == "__main__":
    main()
