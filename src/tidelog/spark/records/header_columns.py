"""The headers of records as an Arrow column: a list of (key, value) for each, null where there are none.

The first headers of all records are read together, then the second ones, and so on; once few records have
more, the rest is read one by one. Null, not empty, is how Spark's own Kafka source says "no headers".
"""

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.spark.records import varints
from tidelog.spark.records.binary_columns import binary_column
from tidelog.spark.records.fields import BadRecord, Fields, Spans
from tidelog.spark.records.varints import Bytes, Ints, OutOfRange
from tidelog.wire.record_body import HEADERS_MAX
from tidelog.wire.varint import read_varint

HEADERS: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_FEW = 8


def header_column(found: Fields, headers_at: Ints, rows: slice) -> pa.Array:
    at, ends = headers_at[rows], found.ends[rows]
    some = np.flatnonzero(found.data[at])
    if not len(some):
        return pa.nulls(len(at), HEADERS)
    parser = _Parser(found.data, ends)
    try:
        counts = parser.counts(at, some)
        spans = parser.parse(counts)
    except _BadRow as error:
        row = error.row + rows.start
        batch = int(np.searchsorted(np.cumsum(found.counts), row, "right"))
        raise BadRecord(batch, str(error)) from None
    keys = _text(binary_column(found.data, spans[0]))
    struct = pa.StructArray.from_arrays([keys, binary_column(found.data, spans[1])], ["key", "value"])
    edges = np.zeros(len(at) + 1, np.int32)
    np.cumsum(counts, out=edges[1:])
    return pa.Array.from_buffers(
        HEADERS,
        len(at),
        [pa.py_buffer(np.packbits(counts > 0, bitorder="little")), pa.py_buffer(edges)],
        children=[struct],
    )


def _text(keys: pa.Array) -> pa.Array:
    """Nothing on the way checked that keys are UTF-8; Java, too, puts the replacement character."""
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([key.decode("utf-8", "replace") for key in keys.to_pylist()], pa.string())


class _BadRow(ValueError):
    def __init__(self, row: int, why: str) -> None:
        super().__init__(why)
        self.row = row


class _Parser:
    """Reads the headers of those rows that have any; `_at` is where each of them is."""

    def __init__(self, data: Bytes, ends: Ints) -> None:
        self._data = data
        self._words = varints.words_of(data)
        self._ends = ends
        self._rows: Ints = np.empty(0, np.int64)
        self._at: Ints = self._rows

    def counts(self, at: Ints, some: npt.NDArray[np.intp]) -> Ints:
        self._rows, self._at = some.astype(np.int64), at[some]
        found = self._number()
        # A header takes two bytes at least, so a count that lies asks for no memory.
        self._check(
            (found >= 0) & (2 * found <= self._ends[self._rows] - self._at), "a wrong count of headers"
        )
        self._check(np.cumsum(found) <= HEADERS_MAX, f"more than {HEADERS_MAX} headers at once")
        counts = np.zeros(len(at), np.int64)
        counts[self._rows] = found
        return counts

    def parse(self, counts: Ints) -> tuple[Spans, Spans]:
        """The spans of all keys and of all values, row by row."""
        total = int(counts.sum())
        keys = Spans(np.empty(total, np.int64), np.empty(total, np.int64), None)
        values = Spans(np.empty(total, np.int64), np.empty(total, np.int64), np.zeros(total, np.bool_))
        left = counts[self._rows]
        slots = (np.cumsum(counts) - counts)[self._rows]
        while True:
            done = left == 0
            self._check(
                ~done | (self._at == self._ends[self._rows]), "a record that goes on after its headers"
            )
            self._rows, self._at = self._rows[~done], self._at[~done]
            left, slots = left[~done], slots[~done]
            if len(self._rows) <= _FEW:
                break
            self._span(keys, slots, 0)
            self._span(values, slots, -1)
            left -= 1
            slots += 1
        for row, at, more, slot in zip(self._rows, self._at, left, slots, strict=True):
            self._one_by_one(int(row), int(at), range(int(slot), int(slot + more)), keys, values)
        return keys, values

    def _number(self) -> Ints:
        self._check(self._at < self._ends[self._rows], "a record that ends within its headers")
        try:
            found, self._at = varints.read(self._data, self._words, self._at)
        except OutOfRange as error:
            raise _BadRow(int(self._rows[error.row]), str(error)) from None
        return found

    def _span(self, spans: Spans, slots: Ints, least: int) -> None:
        lengths = self._number()
        self._check(lengths >= least, "a header with a negative length")
        if spans.nulls is not None:
            spans.nulls[slots] = lengths < 0
        spans.starts[slots] = self._at
        self._at = self._at + np.maximum(lengths, 0)
        self._check(self._at <= self._ends[self._rows], "a header that ends beyond its record")
        spans.stops[slots] = self._at

    def _one_by_one(self, row: int, at: int, slots: range, keys: Spans, values: Spans) -> None:
        record = self._data[at : self._ends[row]].tobytes()
        position = 0
        try:
            for number in slots:
                for spans, least in ((keys, 0), (values, -1)):
                    length, position = read_varint(record, position)
                    if length < least:
                        raise ValueError("a header with a negative length")
                    if spans.nulls is not None:
                        spans.nulls[number] = length < 0
                    spans.starts[number] = at + position
                    position += max(length, 0)
                    spans.stops[number] = at + position
        except (IndexError, ValueError) as error:
            raise _BadRow(row, f"headers that cannot be read: {error}") from None
        if position != len(record):
            raise _BadRow(row, "a record that does not end with its headers")

    def _check(self, holds: npt.NDArray[np.bool_], why: str) -> None:
        if not holds.all():
            raise _BadRow(int(self._rows[holds.argmin()]), why)
