"""Arrow columns to record batches: what a sink sends. The bytes of all rows are joined by Arrow in one go.

Where batches end is decided first, by an upper bound of each record's size, since a record holds its distance
from the start of its batch. Numbers are written as columns, and one join lays them between keys and values.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidelog.base.ids import NO_EPOCH, NO_PRODUCER, ProducerId, TimestampMs
from tidelog.spark.records import varints
from tidelog.spark.records.varints import Ints
from tidelog.wire.batch import COMPRESSED_RECORDS_MAX, HEADER, MAGIC, OVERHEAD, TRANSACTIONAL, patch_crc
from tidelog.wire.compression import Codec, compress

BATCH_BYTES_MAX: Final = 1_000_000
"""What any broker takes by default, with a little to spare."""
_JOINED_BYTES_MAX = 2 * 1024 * 1024
"""At once: what the cache holds is written twice as fast. Arrow itself has an end at 2 GiB."""
_NO_SEQUENCE = -1
_SEQUENCE_MASK = 0x7FFFFFFF
_DELTA_BYTES_MAX = 3
"""Of an offset delta: a batch has at most COMPRESSED_RECORDS_MAX records."""
_LENGTH_BYTES_MAX = 5


class BatchIdentity(NamedTuple):
    """Of an idempotent producer; `sequence` is that of the first row."""

    producer_id: ProducerId = NO_PRODUCER
    epoch: int = NO_EPOCH
    sequence: int = _NO_SEQUENCE
    is_transactional: bool = False


NO_IDENTITY: Final = BatchIdentity()


class Encoded(NamedTuple):
    batch: bytearray
    records: int


class Columns(NamedTuple):
    """The rows for one partition. Keys and values are binary or string, headers a list of (key, value)."""

    keys: pa.Array | None
    values: pa.Array | None
    headers: pa.Array | None = None


def encode(
    columns: Columns,
    times_ms: TimestampMs | Ints,
    *,
    identity: BatchIdentity = NO_IDENTITY,
    codec: int = Codec.NONE,
    level: int | None = None,
    batch_bytes_max: int = BATCH_BYTES_MAX,
) -> Iterator[Encoded]:
    """Batches with at most so many bytes before compression; a record that is larger has one to itself."""
    rows = max((len(column) for column in columns if column is not None), default=0)
    times = np.full(rows, times_ms, np.int64) if isinstance(times_ms, int) else times_ms
    if not rows:
        return
    sequence = identity.sequence
    parts = _Parts.of(columns, rows)
    for firsts, stop in _portions(_batch_starts(parts, times, batch_bytes_max), parts.sizes):
        start = int(firsts[0])
        joined = _Joined(parts.sliced(start, stop), times[start:stop], firsts - start)
        for encoded in joined.batches(identity._replace(sequence=sequence), codec, level):
            yield encoded
            if sequence >= 0:
                sequence = sequence + encoded.records & _SEQUENCE_MASK


def _portions(firsts: npt.NDArray[np.intp], sizes: Ints) -> Iterator[tuple[npt.NDArray[np.intp], int]]:
    """Batches to join at once, by their first rows, and the row that ends them."""
    edges = np.cumsum(sizes)[np.append(firsts[1:], len(sizes)) - 1]
    at = 0
    while at < len(firsts):
        before = int(edges[at - 1]) if at else 0
        stop = max(at + 1, int(np.searchsorted(edges, before + _JOINED_BYTES_MAX, "right")))
        yield firsts[at:stop], int(firsts[stop]) if stop < len(firsts) else len(sizes)
        at = stop


class _Parts(NamedTuple):
    """The three variable parts of each record; a length of -1 is null."""

    keys: pa.Array
    key_lengths: Ints
    values: pa.Array
    value_lengths: Ints
    headers: pa.Array | None
    """The bytes of all headers of the row."""
    header_counts: Ints
    sizes: Ints
    """Bytes of the three together."""

    @classmethod
    def of(cls, columns: Columns, rows: int) -> "_Parts":
        keys, key_lengths = _binary(columns.keys, rows)
        values, value_lengths = _binary(columns.values, rows)
        headers, counts, header_bytes = None, np.zeros(rows, np.int64), np.zeros(rows, np.int64)
        if columns.headers is not None and len(columns.headers):
            headers, counts, header_bytes = _header_bytes(columns.headers)
        sizes = np.maximum(key_lengths, 0) + np.maximum(value_lengths, 0) + header_bytes
        return cls(keys, key_lengths, values, value_lengths, headers, counts, sizes)

    def sliced(self, start: int, stop: int) -> "_Parts":
        if start == 0 and stop == len(self.sizes):
            return self
        rows = slice(start, stop)
        return _Parts(
            self.keys[rows],
            self.key_lengths[rows],
            self.values[rows],
            self.value_lengths[rows],
            None if self.headers is None else self.headers[rows],
            self.header_counts[rows],
            self.sizes[rows],
        )


class _Joined:
    """All records of a portion, back to back, and where the batches begin."""

    def __init__(self, parts: _Parts, times: Ints, firsts: npt.NDArray[np.intp]) -> None:
        self._times, self._firsts = times, firsts
        rows = len(times)
        counts = np.diff(np.append(self._firsts, rows))
        offset_deltas = np.arange(rows) - np.repeat(self._firsts, counts)
        time_deltas = times - np.repeat(times[self._firsts], counts)
        lengths = 1 + parts.sizes
        for numbers in (
            time_deltas,
            offset_deltas,
            parts.key_lengths,
            parts.value_lengths,
            parts.header_counts,
        ):
            lengths = lengths + varints.widths(numbers)
        zeros = np.zeros(rows, np.int64)  # the attributes: one byte, as zero is as a number
        front = _numbers([lengths, zeros, time_deltas, offset_deltas, parts.key_lengths])
        middle = _numbers([parts.value_lengths])
        pieces = [front, parts.keys, middle, parts.values]
        if parts.headers is None:
            pieces.append(pa.scalar(b"\0"))
        else:
            pieces += (_numbers([parts.header_counts]), parts.headers)
        joined = pc.binary_join_element_wise(*pieces, b"", null_handling="replace", null_replacement=b"")
        _, edges, data = joined.buffers()
        self._edges = np.frombuffer(edges, np.int32)[joined.offset : joined.offset + rows + 1]
        self._data = memoryview(data)

    def batches(self, identity: BatchIdentity, codec: int, level: int | None) -> Iterator[Encoded]:
        rows = len(self._times)
        sequence = identity.sequence
        attributes = codec | (TRANSACTIONAL if identity.is_transactional else 0)
        firsts = self._firsts.tolist()
        for first, stop in zip(firsts, [*firsts[1:], rows], strict=True):
            body: memoryview | bytes = self._data[self._edges[first] : self._edges[stop]]
            if codec != Codec.NONE:
                body = compress(codec, body, level)
            batch = bytearray(HEADER.size)
            batch += body
            times = self._times[first:stop]
            HEADER.pack_into(
                batch,
                0,
                0,
                len(batch) - OVERHEAD,
                NO_EPOCH,
                MAGIC,
                0,
                attributes,
                stop - first - 1,
                int(times[0]),
                int(times.max()),
                identity.producer_id,
                identity.epoch,
                sequence,
                stop - first,
            )
            patch_crc(batch, 0)
            yield Encoded(batch, stop - first)
            if sequence >= 0:
                sequence = sequence + stop - first & _SEQUENCE_MASK


def _batch_starts(parts: _Parts, times: Ints, batch_bytes_max: int) -> npt.NDArray[np.intp]:
    """Rows at which a batch begins."""
    spread = int(times.max() - times.min())
    time_bytes = int(varints.widths(np.array([-spread - 1]))[0])
    fixed = _LENGTH_BYTES_MAX + 1 + time_bytes + _DELTA_BYTES_MAX + 3 * _LENGTH_BYTES_MAX
    edges = np.cumsum(parts.sizes + fixed)
    starts, first, before = [], 0, 0
    while first < len(edges):
        starts.append(first)
        fitting = int(np.searchsorted(edges, before + batch_bytes_max - HEADER.size, "right"))
        first = min(max(fitting, first + 1), first + COMPRESSED_RECORDS_MAX)
        before = int(edges[first - 1])
    return np.array(starts, np.intp)


def _numbers(columns: list[Ints]) -> pa.Array:
    """The varints of each row as one binary value."""
    data, edges = varints.write(columns)
    return pa.Array.from_buffers(
        pa.binary(), len(columns[0]), [None, pa.py_buffer(edges.astype(np.int32)), pa.py_buffer(data)]
    )


def _binary(column: pa.Array | None, rows: int) -> tuple[pa.Array, Ints]:
    """(the column as binary, the length of each value or -1)."""
    if column is None or column.null_count == rows:
        # An array of empty values, not of nulls: a null in a join costs a look at every piece.
        edges = pa.py_buffer(np.zeros(rows + 1, np.int32))
        return pa.Array.from_buffers(pa.binary(), rows, [None, edges, pa.py_buffer(b"")]), np.full(rows, -1)
    if column.type != pa.binary():
        column = column.cast(pa.binary())
    return column, _lengths(column)


def _lengths(column: pa.Array) -> Ints:
    lengths = np.asarray(pc.binary_length(column).fill_null(-1))
    return lengths.astype(np.int64)


def _header_bytes(headers: pa.Array) -> tuple[pa.Array, Ints, Ints]:
    """(the bytes of the headers of each row, how many there are, how many bytes)."""
    counts = np.asarray(pc.list_value_length(headers).fill_null(0)).astype(np.int64)
    each = headers.flatten()  # leaves out what a null list may hide
    key_column, value_column = each.flatten()
    keys, key_lengths = _binary(key_column, len(each))
    values, value_lengths = _binary(value_column, len(each))
    if (key_lengths < 0).any():
        raise ValueError("a header without a key: Kafka has none")
    joined = pc.binary_join_element_wise(
        _numbers([key_lengths]),
        keys,
        _numbers([value_lengths]),
        values,
        b"",
        null_handling="replace",
        null_replacement=b"",
    )
    rows = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=rows[1:])
    _, edges, data = joined.buffers()
    ends = np.frombuffer(edges, np.int32)[joined.offset :][rows]
    made = pa.Array.from_buffers(
        pa.binary(), len(counts), [None, pa.py_buffer(np.ascontiguousarray(ends)), data]
    )
    return made, counts, np.diff(ends).astype(np.int64)
