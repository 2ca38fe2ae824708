"""Spans of one buffer as an Arrow column.

The bytes are seen, without a copy, as an Arrow array in which every second element is a row and the others
are what lies between; `take` then copies the rows.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.spark.records.fields import Spans
from tidelog.spark.records.varints import Bytes


def binary_column(data: Bytes, spans: Spans) -> pa.Array:
    rows = len(spans.starts)
    if not rows:
        return pa.array([], pa.binary())
    edges = np.empty(2 * rows, np.int32)
    edges[0::2] = spans.starts
    edges[1::2] = spans.stops
    seen = pa.Array.from_buffers(pa.binary(), 2 * rows - 1, [None, pa.py_buffer(edges), pa.py_buffer(data)])
    validity = None
    if spans.nulls is not None:
        validity = pa.py_buffer(np.packbits(~spans.nulls, bitorder="little"))
    wanted = np.arange(0, 2 * rows, 2, dtype=np.int32)
    return seen.take(pa.Array.from_buffers(pa.int32(), rows, [validity, pa.py_buffer(wanted)]))


def number_column(kind: pa.DataType, numbers: npt.NDArray[Any]) -> pa.Array:
    """Without a copy. `pa.array` would do, but its first call imports pandas: half a second a worker."""
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(np.ascontiguousarray(numbers))])
