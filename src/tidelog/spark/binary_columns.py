"""Spans of one buffer as an Arrow column.

The bytes are seen, without a copy, as an Arrow array in which every second element is a row and the others
are what lies between; `take` then copies the rows.
"""

import numpy as np
import pyarrow as pa

from tidelog.spark.fields import Spans
from tidelog.spark.varints import Bytes


def binary_column(data: Bytes, spans: Spans) -> pa.Array:
    rows = len(spans.starts)
    if not rows:
        return pa.array([], pa.binary())
    edges = np.empty(2 * rows, np.int32)
    edges[0::2] = spans.starts
    edges[1::2] = spans.stops
    seen = pa.Array.from_buffers(pa.binary(), 2 * rows - 1, [None, pa.py_buffer(edges), pa.py_buffer(data)])
    return seen.take(pa.array(np.arange(0, 2 * rows, 2, dtype=np.int32), mask=spans.nulls))
