"""A small CSV, JSON or Parquet file as an Arrow table of given columns."""

import io
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.json as pyjson
import pyarrow.parquet as pq
from pyarrow import csv

from tidelog.base.errors import TidelogError
from tidelog.spark.lake.schema import plain

OPTIONS = {"sep": ",", "quote": '"', "nullvalue": ""}
"""Of CSV, as Spark's reader calls them, with its defaults; names in any case."""


class BadLookup(TidelogError):
    """A file that cannot be used as the table that it is to be."""


def read_lookup(path: Path, data: bytes, schema: pa.Schema | None, options: Mapping[str, str]) -> pa.Table:
    """`schema` None takes the columns and types that the file seems to have."""
    try:
        table = _parsed(path, data, schema, options)
    except (pa.ArrowException, ValueError, KeyError) as error:
        raise BadLookup(f"{path} is not as it has to be: {error}") from error
    wanted = _known(table.schema) if schema is None else schema
    missing = [name for name in wanted.names if name not in table.column_names]
    if missing:
        raise BadLookup(f"{path} has no column {', '.join(missing)}; it has {', '.join(table.column_names)}")
    try:
        return table.select(wanted.names).cast(wanted)
    except (pa.ArrowException, ValueError) as error:
        raise BadLookup(f"{path} has a value that does not fit its column: {error}") from error


def _parsed(path: Path, data: bytes, schema: pa.Schema | None, options: Mapping[str, str]) -> pa.Table:
    kind = path.suffix.lower()
    if kind == ".parquet":
        return pq.read_table(io.BytesIO(data))
    if kind == ".csv":
        given = OPTIONS | {name.lower(): value for name, value in options.items()}
        types = {} if schema is None else {field.name: field.type for field in schema if _is_plain(field)}
        return csv.read_csv(
            io.BytesIO(data),
            parse_options=csv.ParseOptions(delimiter=given["sep"], quote_char=given["quote"] or False),
            convert_options=csv.ConvertOptions(
                column_types=types, null_values=[given["nullvalue"]], strings_can_be_null=True
            ),
        )
    explicit = None if schema is None else pyjson.ParseOptions(explicit_schema=schema)
    return pyjson.read_json(io.BytesIO(data), parse_options=explicit)


def _is_plain(field: pa.Field) -> bool:
    """Times are read as they are written, with a zone or without, and brought to UTC after that."""
    return not pa.types.is_timestamp(field.type)


def _known(schema: pa.Schema) -> pa.Schema:
    """Types that Spark has: times in UTC, and text where every value is null."""
    made = []
    for field in plain(schema):
        kind = field.type
        if pa.types.is_null(kind):
            kind = pa.string()
        elif pa.types.is_timestamp(kind):
            kind = pa.timestamp("us", tz="UTC")
        made.append(pa.field(field.name, kind))
    return pa.schema(made)
