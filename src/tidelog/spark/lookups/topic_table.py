"""A compacted topic as a table: `option("read.as", "table")`, the latest record of each key.

Spark plans a batch source once, however many micro-batches a stream that is joined with it has. So the plan
only says how many tasks there are; each looks for itself, whenever it runs, where the log ends by then.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from tidelog.blocking.cluster import Cluster
from tidelog.spark.errors import OptionError
from tidelog.spark.source.batch_planner import batch_ranges
from tidelog.spark.source.options import SourceOptions
from tidelog.spark.source.rows import check_schema, cluster_of_worker, read_rows

ROWS_BETWEEN = 1 << 18
"""How many rows a task gathers before it drops those that have been replaced."""
ROW = "__row"


@dataclass(frozen=True, slots=True)
class Share:
    """Of the partitions, by number."""

    index: int
    count: int


class TopicTableReader(DataSourceReader):
    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        check_schema(schema)
        missing = {"key", "partition"}.difference(schema.names)
        if missing:
            raise OptionError(
                f"a table is by key and partition, and the schema leaves out {', '.join(missing)}"
            )
        self._options, self._schema = options, schema

    def partitions(self) -> Sequence[InputPartition]:
        with Cluster(self._options.cluster) as cluster:
            ranges = batch_ranges(self._options, cluster)
        rows = sum(each.size for each in ranges)
        wanted = max(self._options.tasks_min or 1, ceil(rows / max(1, self._options.task_rows_min)))
        count = max(1, min(wanted, len(ranges)))
        return [InputPartition(Share(index, count)) for index in range(count)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        share: Share = partition.value
        found = batch_ranges(self._options, cluster_of_worker(self._options.cluster))
        mine = [each for each in found if each.partition.partition % share.count == share.index]
        yield from latest_rows(read_rows(self._options, self._schema, mine))


def latest_rows(batches: Iterable[pa.RecordBatch], rows_between: int = ROWS_BETWEEN) -> list[pa.RecordBatch]:
    """The last row of each key in each partition; rows without a key belong to nothing and are left out."""
    gathered: list[pa.RecordBatch] = []
    rows = kept = 0
    for batch in batches:
        gathered.append(batch)
        rows += batch.num_rows
        if rows >= kept + rows_between:
            gathered = _compacted(gathered)
            rows = kept = sum(each.num_rows for each in gathered)
    return _compacted(gathered)


def _compacted(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    if not batches:
        return []
    table = pa.Table.from_batches(batches)
    table = table.filter(pc.is_valid(table["key"]))
    numbered = table.select(["partition", "key"]).append_column(
        ROW, pa.array(range(table.num_rows), pa.int64())
    )
    last = numbered.group_by(["partition", "key"]).aggregate([(ROW, "max")])[f"{ROW}_max"]
    kept: list[pa.RecordBatch] = table.take(last.combine_chunks().sort()).to_batches()
    return kept
