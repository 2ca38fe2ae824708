"""Sinks: a frame's rows as records of a topic, rows of a table, or lines on the console."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelog.spark.foreach_batch import each_batch, each_upsert
from tidelog.spark.lake.options import LakeOptions, parse_options
from tidelog.spark.lake.plan import check_partition_columns
from tidelog.spark.pipeline.encodings import encoding_of, json_value
from tidelog.spark.pipeline.sources import as_text
from tidelog.spark.pipeline.spec import Sink
from tidelog.spark.sink.options import read_sink_options
from tidelog.spark.sink.schema import shape_of
from tidelog.spark.values.value_encoding import encoded, fields_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

CONSOLE_ROWS = 40
DELETED = "__deleted"
"""True in rows that are to go from the table; the table has no such column."""
WORD = re.compile(r"\w+")
RECORD_COLUMNS = ("key", "value", "headers", "topic", "partition")

Show = Callable[[str, int, Sequence[str], Sequence[Sequence[Any]], int], None]
"""(query, batch, columns, some of the rows, how many there are)"""


def writer_of(
    frame: "DataFrame", sink: Sink, name: str, *, brokers: str, directory: Path, show: Show
) -> "DataStreamWriter":
    """All but the trigger and the checkpoint, for a frame that `prepared` has made."""
    options = sink_options(sink, brokers, directory)
    if sink.kind == "console":
        rows = int(sink.options.get("rows", CONSOLE_ROWS))
        return frame.writeStream.foreachBatch(_shower(name, rows, show)).outputMode(sink.mode)
    if sink.upsert is not None:
        each = each_upsert(options, sink.upsert.columns, sink.upsert.order)
        return frame.writeStream.foreachBatch(each).outputMode(sink.mode)
    if sink.kind != "topic":
        return frame.writeStream.format("tidelog_lake").options(**options).outputMode(sink.mode)
    if sink.mode == "append":
        return frame.writeStream.format("tidelog").options(**options).outputMode("append")
    return frame.writeStream.foreachBatch(each_batch(options)).outputMode(sink.mode)


def sink_options(sink: Sink, brokers: str, directory: Path = Path()) -> dict[str, str]:
    if sink.kind == "console":
        return {}
    if sink.kind == "topic":
        made = {
            "kafka.bootstrap.servers": sink.brokers or brokers,
            "topic": sink.topic or "",
            "delivery": sink.delivery,
        }
    else:
        path: str = getattr(sink, sink.kind)
        place = path if "://" in path else str((directory / path).resolve())
        made = {"path": place, "tableFormat": sink.kind}
        if sink.upsert is not None:
            made["upsertBy"] = ",".join(sink.upsert.columns)
            made |= {"upsertOrder": sink.upsert.order} if sink.upsert.order is not None else {}
            made |= {"upsertDelete": DELETED} if sink.upsert.delete is not None else {}
    return made | as_text(sink.options)


def prepared(
    frame: "DataFrame", sink: Sink, brokers: str, directory: Path = Path(), *, may_register: bool = True
) -> "DataFrame":
    """What the sink writes of the frame. Raises for what it could not take, before anything runs.

    `may_register`: whether schemas are registered, or only tried."""
    options = sink_options(sink, brokers, directory)
    if sink.kind == "topic":
        records = as_records(frame, sink, directory, may_register=may_register)
        columns = {field.name: field.dataType.simpleString() for field in records.schema.fields}
        shape_of(columns, sink.topic, with_headers=read_sink_options(options).with_headers)
        return records
    if sink.kind == "console":
        return frame
    if sink.upsert is not None and sink.upsert.delete is not None:
        from pyspark.sql.functions import expr

        frame = frame.withColumn(DELETED, expr(sink.upsert.delete).cast("boolean"))
    _check_columns(frame, parse_options(options))
    return frame


def _check_columns(frame: "DataFrame", options: LakeOptions) -> None:
    from tidelog.spark.lake.spark_types import arrow_schema

    schema = arrow_schema(frame.schema)
    if options.upsert is not None:
        from tidelog.spark.lake.upserts import table_columns

        schema = table_columns(schema, options.upsert)
    check_partition_columns(schema, options.partition_by)


def as_records(
    frame: "DataFrame", sink: Sink, directory: Path = Path(), *, may_register: bool = True
) -> "DataFrame":
    """Key, value and headers as the sink says; else a column `value` as it is, or the whole row as JSON."""
    from pyspark.sql.functions import col, expr, struct, to_json

    columns = []
    if sink.key is not None:
        columns.append(expr(sink.key).cast("string").alias("key"))
    elif "key" in frame.columns and "value" in frame.columns:
        columns.append(col("key"))
    if sink.encode == "json" and sink.registry is not None:
        columns.append(json_value(frame, sink, directory, may_register=may_register).alias("value"))
    elif sink.encode in ("avro", "protobuf"):
        encoding = encoding_of(frame, sink, directory, may_register=may_register)
        elsewhere = WORD.findall(f"{sink.key} {sink.headers}")
        columns.append(encoded(encoding, fields_of(encoding, frame.columns, elsewhere)).alias("value"))
    elif sink.value is not None:
        columns.append(expr(sink.value).alias("value"))
    elif "value" in frame.columns and sink.encode is None:
        columns.append(col("value"))
    else:
        columns.append(to_json(struct(*(col(f"`{name}`") for name in frame.columns))).alias("value"))
    if sink.headers is not None:
        columns.append(expr(sink.headers).alias("headers"))
    elif "headers" in frame.columns and "value" in frame.columns:
        columns.append(col("headers"))
    return frame.select(*columns)


def _in_order(rows: list[Any]) -> list[Any]:
    """Sorted for the eye, where that can be: by the first column, then the next."""
    try:
        return sorted(rows)
    except TypeError:
        return rows


def _shower(name: str, rows: int, show: Show) -> Callable[["DataFrame", int], None]:
    def show_batch(frame: "DataFrame", batch: int) -> None:
        found = _in_order(frame.collect())
        if found:
            show(name, batch, frame.columns, [tuple(row) for row in found[:rows]], len(found))

    return show_batch
