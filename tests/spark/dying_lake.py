"""Lake sinks that are the real one until they die: a worker, or Spark's whole JVM, around the table's commit.

`register(spark)` makes them known as formats; as a program it runs one query until its JVM is killed.
"""

import sys
from collections.abc import Callable
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, WriterCommitMessage
from pyspark.sql.types import StructType

from tests.spark import dying_sink
from tests.spark.dying_sink import kill_the_jvm, kill_this_process
from tidelog.spark.lake.options import parse_options
from tidelog.spark.lake.sink import LakeSource, StreamWriter
from tidelog.spark.lake.spark_types import arrow_schema

BEFORE, AFTER = "dying_before_commit", "dying_after_commit"
JVM_AFTER = "jvm_dying_after_commit"


class DyingBefore(StreamWriter):
    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        kill_this_process()


class DyingAfter(StreamWriter):
    die: Callable[[], None] = staticmethod(kill_this_process)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        super().commit(messages, batchId)
        type(self).die()


class JvmDyingAfter(DyingAfter):
    die = staticmethod(kill_the_jvm)


def source_of(format_name: str, writer: type[StreamWriter]) -> type[DataSource]:
    class Dying(LakeSource):
        @classmethod
        def name(cls) -> str:
            return format_name

        def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
            return writer(parse_options(dict(self.options.items())), arrow_schema(schema), overwrite)

    return Dying


def register(spark: SparkSession) -> None:
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    cloudpickle.register_pickle_by_value(dying_sink)
    for name, writer in {BEFORE: DyingBefore, AFTER: DyingAfter, JVM_AFTER: JvmDyingAfter}.items():
        spark.dataSource.register(source_of(name, writer))


def rows_of(spark: SparkSession, directory: str) -> Any:
    """A stream of JSON files, so that a batch that runs again has the same rows."""
    return (
        spark.readStream.schema("id BIGINT, name STRING, day DATE")
        .option("maxFilesPerTrigger", 1)
        .json(directory)
    )


if __name__ == "__main__":
    from tidelog.spark.engine.session import spark_session

    inputs, table, checkpoint = sys.argv[1:]
    session = spark_session("dying-lake", master="local[2]")
    register(session)
    writer = rows_of(session, inputs).writeStream.format(JVM_AFTER).option("path", table)
    writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()
