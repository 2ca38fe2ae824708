"""Rows kept apart by the values of some columns, and how directories and Delta's log spell such values."""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa

NULL_DIRECTORY = "__HIVE_DEFAULT_PARTITION__"
# What Hive, Spark and Arrow write as it is; all else becomes %XX.
UNQUOTED = " -_.~!$&()+,;@"


def split(batch: pa.RecordBatch, columns: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], pa.RecordBatch]]:
    """The rows of each combination of values, in their order."""
    if not columns:
        yield (), batch
        return
    if batch.num_rows == 0:
        return
    encoded = [batch.column(name).dictionary_encode(null_encoding="encode") for name in columns]
    codes = np.zeros(batch.num_rows, dtype=np.int64)
    for column in encoded:
        codes = codes * len(column.dictionary) + column.indices.to_numpy()
    kinds, first = np.unique(codes, return_index=True)
    values = [
        tuple(column.dictionary[column.indices[row].as_py()].as_py() for column in encoded) for row in first
    ]
    if len(kinds) == 1:
        yield values[0], batch
        return
    order = np.argsort(codes, kind="stable")
    sorted_rows = batch.take(pa.array(order))
    bounds = [*np.searchsorted(codes[order], kinds), batch.num_rows]
    for number, value in enumerate(values):
        start = int(bounds[number])
        yield value, sorted_rows.slice(start, int(bounds[number + 1]) - start)


def text(value: Any) -> str | None:
    """A value in Delta's log; None stands for null, and so does no text at all, as Delta has it."""
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date):
        return value.isoformat()
    return str(value)


def directory(columns: Sequence[str], values: Sequence[Any]) -> str:
    """`day=2024-05-01/country=NO`, as Hive, Spark and Arrow read it."""
    return "/".join(
        f"{quote(name, safe=UNQUOTED)}={_directory_value(value)}"
        for name, value in zip(columns, values, strict=True)
    )


def _directory_value(value: Any) -> str:
    written = text(value)
    return NULL_DIRECTORY if written is None else quote(written, safe=UNQUOTED)
