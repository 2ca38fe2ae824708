"""Output mode `update` into topics, and upserts into tables. Spark lets a Python sink append or replace only
("does not support Update mode"), so a micro-batch of changed rows is written as a batch job writes it:

    stream.writeStream.foreachBatch(each_batch({...})).outputMode("update")
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tidelog.base.invariant import invariant

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

RANK = "__rank"


def each_batch(options: Mapping[str, str]) -> Callable[["DataFrame", int], None]:
    """A function for `foreachBatch` that writes each micro-batch to topics.

    Spark lets a sink in Python append only. With this, streams in output mode `update` or `complete` reach
    topics too. With `delivery=exactly-once`, a batch that Spark repeats after a crash is written once.

    Example:
        import tempfile

        from tidelog.spark import each_batch, spark_session

        spark = spark_session("counts")
        brokers = {"kafka.bootstrap.servers": "localhost:9092"}
        events = spark.readStream.format("tidelog").options(
            **brokers, subscribe="events", startingOffsets="earliest"
        )
        counts = events.load().groupBy("key").count().selectExpr("key", "CAST(count AS STRING) AS value")
        query = (
            counts.writeStream.foreachBatch(each_batch({**brokers, "topic": "counts"}))
            .outputMode("update")
            .option("checkpointLocation", tempfile.mkdtemp())
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        print(query.lastProgress.numInputRows)

    Args:
        options: Those of `format("tidelog")` for writing; see docs/spark-sink.md.
    """
    is_exact = options.get("delivery") == "exactly-once"

    def write_batch(frame: "DataFrame", batch: int) -> None:
        named = {"txnAppId": _query_id(frame), "txnVersion": str(batch)} if is_exact else {}
        frame.write.format("tidelog").options(**options, **named).mode("append").save()

    return write_batch


def each_upsert(
    options: Mapping[str, str], by: Sequence[str], order: str | None
) -> Callable[["DataFrame", int], None]:
    """For `foreachBatch`; the options are those of `format("tidelog_lake")`, with `upsertBy`.

    Of several rows with one key only the newest is written. The table remembers the batch by its query and
    number, so one that Spark repeats changes nothing.
    """

    def write_batch(frame: "DataFrame", batch: int) -> None:
        rows = frame if order is None else newest(frame, by, order)
        named = {"txnAppId": _query_id(frame), "txnVersion": str(batch)}
        rows.write.format("tidelog_lake").options(**options, **named).mode("append").save()

    return write_batch


def newest(frame: "DataFrame", by: Sequence[str], order: str) -> "DataFrame":
    from pyspark.sql import Window
    from pyspark.sql.functions import col, row_number

    of_key = Window.partitionBy(*(col(f"`{name}`") for name in by)).orderBy(
        col(f"`{order}`").desc_nulls_last()
    )
    ranked = frame.withColumn(RANK, row_number().over(of_key))
    return ranked.where(col(RANK) == 1).drop(RANK)


def _query_id(frame: "DataFrame") -> str:
    """That of the checkpoint: the same after a restart, and another one when it begins anew."""
    found = frame.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
    invariant(found is not None, "a batch of no query")
    return str(found)
