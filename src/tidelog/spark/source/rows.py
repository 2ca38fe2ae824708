"""The columns of the source, and what a task yields: Arrow batches of exactly the schema Spark expects."""

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from tidelog.blocking.cluster import Cluster, TopicPartition
from tidelog.blocking.settings import ClusterSettings
from tidelog.spark.errors import OptionError
from tidelog.spark.records.batch_decoding import Decoded
from tidelog.spark.source.loss import LossReport
from tidelog.spark.source.options import SourceOptions
from tidelog.spark.source.planning import OffsetRange
from tidelog.spark.source.range_reader import FetchLimits, RangeReader
from tidelog.spark.source.segments import SegmentReader

_HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
HEADERS = StructField("headers", ArrayType(_HEADER))
COLUMNS = (
    StructField("key", BinaryType()),
    StructField("value", BinaryType()),
    StructField("topic", StringType()),
    StructField("partition", IntegerType()),
    StructField("offset", LongType()),
    StructField("timestamp", TimestampType()),
    StructField("timestampType", IntegerType()),
)
_PLACE = ("topic", "partition")

_clusters: dict[ClusterSettings, Cluster] = {}


def source_schema(*, with_headers: bool) -> StructType:
    return StructType([*COLUMNS, HEADERS] if with_headers else [*COLUMNS])


def check_schema(schema: StructType) -> None:
    """A schema of the user's may leave columns out, which saves decoding them; it cannot change them."""
    types = {field.name: field.dataType for field in (*COLUMNS, HEADERS)}
    for field in schema.fields:
        if types.get(field.name) != field.dataType:
            known = f"it is {types[field.name].simpleString()}" if field.name in types else "there is none"
            raise OptionError(
                f"the schema asks for column {field.name} as {field.dataType.simpleString()}, but {known}; "
                f"columns are {', '.join(types)}"
            )
    if not schema.fields:
        raise OptionError("the schema has no columns")


def read_rows(
    options: SourceOptions, schema: StructType, ranges: Sequence[OffsetRange]
) -> Iterator[pa.RecordBatch]:
    columns = [field.name for field in schema.fields]
    reader = _reader(options, ranges, [name for name in columns if name not in _PLACE] or ["offset"])
    arrow = to_arrow_schema(schema, timezone="UTC")
    for partition, rows in reader:
        arrays = [_column(name, partition, rows) for name in columns]
        yield pa.RecordBatch.from_arrays(arrays, schema=arrow)


def _reader(
    options: SourceOptions, ranges: Sequence[OffsetRange], columns: Sequence[str]
) -> Iterable[tuple[TopicPartition, Decoded]]:
    cluster = cluster_of_worker(options.cluster)
    limits = FetchLimits(
        read_committed=options.read_committed,
        bytes_max=options.fetch_bytes_max,
        partition_bytes_max=options.partition_bytes_max,
        wait_ms=options.fetch_wait_ms,
        poll_timeout_s=options.poll_timeout_ms / 1000,
    )
    loss = LossReport(fails=options.fail_on_data_loss)

    def over_network(rest: Sequence[OffsetRange]) -> RangeReader:
        return RangeReader(cluster, rest, limits, loss, columns, engine=options.decoder)

    if not options.reads_segments:
        return over_network(ranges)
    return SegmentReader(
        cluster,
        ranges,
        over_network,
        columns,
        read_committed=options.read_committed,
        log_dirs=options.log_dirs,
        engine=options.decoder,
    )


def _column(name: str, partition: TopicPartition, rows: Decoded) -> pa.Array:
    if name == "topic":
        return pa.repeat(pa.scalar(partition.topic), rows.rows)
    if name == "partition":
        return pa.repeat(pa.scalar(partition.partition, pa.int32()), rows.rows)
    return rows.columns[name]


def cluster_of_worker(settings: ClusterSettings) -> Cluster:
    """A Python worker runs many tasks of a query, one at a time; connections outlive each of them."""
    found = _clusters.get(settings)
    if found is None:
        for other in _clusters.values():
            other.close()
        _clusters.clear()
        found = _clusters[settings] = Cluster(settings)
    return found
