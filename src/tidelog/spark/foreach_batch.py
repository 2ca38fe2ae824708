"""Output mode `update` into topics. Spark lets a Python sink append or replace only ("does not support Update
mode"), so a micro-batch of changed rows is written as a batch job writes it:

    stream.writeStream.foreachBatch(each_batch({...})).outputMode("update")
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tidelog.base.invariant import invariant

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


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


def _query_id(frame: "DataFrame") -> str:
    """That of the checkpoint: the same after a restart, and another one when it begins anew."""
    found = frame.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
    invariant(found is not None, "a batch of no query")
    return str(found)
