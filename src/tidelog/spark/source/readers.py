"""Spark's reader interfaces, for batches and streams: thin, the planners and rows do the work."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from tidelog.blocking.cluster import Cluster
from tidelog.spark.source.batch_planner import batch_ranges
from tidelog.spark.source.options import SourceOptions
from tidelog.spark.source.planning import OffsetRange, planned
from tidelog.spark.source.progress_group import publish
from tidelog.spark.source.rows import check_schema, read_rows
from tidelog.spark.source.stream_offset import StreamOffset
from tidelog.spark.source.stream_planner import StreamPlanner


class TidelogBatchReader(DataSourceReader):
    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        check_schema(schema)
        self._options, self._schema = options, schema

    def partitions(self) -> Sequence[InputPartition]:
        with Cluster(self._options.cluster) as cluster:
            return _tasks(self._options, batch_ranges(self._options, cluster))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Spark makes one task without ranges where there is nothing to read.
        return read_rows(self._options, self._schema, partition.value or ())


class TidelogStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Of its methods only `read` runs on executors, in a copy."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        check_schema(schema)
        self._options, self._schema = options, schema
        self._published: StreamOffset | None = None

    @cached_property
    def _cluster(self) -> Cluster:
        return Cluster(self._options.cluster)

    @cached_property
    def _planner(self) -> StreamPlanner:
        return StreamPlanner(self._options, self._cluster)

    def initialOffset(self) -> dict[str, Any]:
        return self._planner.initial().to_json()

    def getDefaultReadLimit(self) -> ReadLimit:
        if self._options.rows_max is not None:
            return ReadMaxRows(self._options.rows_max)
        if self._options.rows_min is not None:
            return ReadMinRows(self._options.rows_min)
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        rows_min = None if isinstance(limit, ReadAllAvailable) else self._options.rows_min
        rows_max = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        done = StreamOffset.from_json(start)
        self._publish(done)  # Spark tells of a query's last batch in no other way
        return self._planner.latest(done, rows_max, rows_min).to_json()

    def prepareForTriggerAvailableNow(self) -> None:
        self._planner.freeze()

    def reportLatestOffset(self) -> dict[str, Any] | None:
        return self._planner.report()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        ranges = self._planner.ranges(StreamOffset.from_json(start), StreamOffset.from_json(end))
        return _tasks(self._options, ranges)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_rows(self._options, self._schema, partition.value or ())

    def commit(self, end: dict[str, Any]) -> None:
        self._publish(StreamOffset.from_json(end))

    def _publish(self, done: StreamOffset) -> None:
        if self._options.group is not None and done != self._published:
            publish(self._cluster, self._options.group, done)
            self._published = done

    def stop(self) -> None:
        if "_cluster" in self.__dict__:
            self._cluster.close()


def _tasks(options: SourceOptions, ranges: list[OffsetRange]) -> list[InputPartition]:
    tasks = planned(
        ranges,
        tasks_min=options.tasks_min,
        task_rows_max=options.task_rows_max,
        task_rows_min=options.task_rows_min,
    )
    return [InputPartition(task) for task in tasks]
