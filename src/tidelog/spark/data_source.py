"""`format("tidelog")`: what Spark finds by itself through the module pyspark_tidelog.

Spark imports this in many short processes, so each way of using it imports its own parts.
"""

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from tidelog.spark.lookups.topic_table import TopicTableReader
    from tidelog.spark.sink.writers import BatchWriter, StreamWriter
    from tidelog.spark.source.readers import TidelogBatchReader, TidelogStreamReader


class TidelogDataSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "tidelog"

    def schema(self) -> StructType:
        from tidelog.spark.source.options import TABLE, subscription_of
        from tidelog.spark.source.rows import source_schema

        given = TABLE.read(self.options)  # a wrong option is told by load(), not only when the query runs
        given.required("kafka.bootstrap.servers")
        subscription_of(given)
        return source_schema(with_headers=given.flag("includeHeaders"))

    def reader(self, schema: StructType) -> "TidelogBatchReader | TopicTableReader":
        from tidelog.spark.source.options import read_source_options
        from tidelog.spark.source.readers import TidelogBatchReader

        options = read_source_options(self.options, is_stream=False)
        if options.is_table:
            from tidelog.spark.lookups.topic_table import TopicTableReader

            return TopicTableReader(options, schema)
        return TidelogBatchReader(options, schema)

    def streamReader(self, schema: StructType) -> "TidelogStreamReader":
        from tidelog.spark.source.options import read_source_options
        from tidelog.spark.source.readers import TidelogStreamReader

        return TidelogStreamReader(read_source_options(self.options, is_stream=True), schema)

    def writer(self, schema: StructType, overwrite: bool) -> "BatchWriter":
        from tidelog.spark.sink.writers import BatchWriter

        return BatchWriter(self.options, schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> "StreamWriter":
        from tidelog.spark.sink.writers import StreamWriter

        return StreamWriter(self.options, schema)
