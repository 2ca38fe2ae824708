"""Where the fields of every record lie, as arrays: found once, whichever columns are made of them.

The layout of a record is drawn in `wire.record_body`. Each step checks that a field begins within its record
before it is read, so bytes that lie about a length end in BadRecord.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidelog.spark.records import varints
from tidelog.spark.records.bodies import Group
from tidelog.spark.records.record_starts import record_starts
from tidelog.spark.records.varints import Bytes, Ints, OutOfRange


class BadRecord(ValueError):
    """What is wrong with the records of the batch with this number."""

    def __init__(self, batch: int, why: str) -> None:
        super().__init__(why)
        self.batch = batch


@dataclass(slots=True)
class Spans:
    """Bytes from `starts` up to `stops`; of a null the two are equal."""

    starts: Ints
    stops: Ints
    nulls: npt.NDArray[np.bool_] | None
    """None where no row is null."""

    def sliced(self, rows: slice) -> "Spans":
        nulls = None if self.nulls is None else self.nulls[rows]
        return Spans(self.starts[rows], self.stops[rows], nulls)


@dataclass(slots=True)
class Fields:
    data: Bytes
    counts: Ints
    """Records in each batch."""
    offset_deltas: Ints
    time_deltas: Ints
    keys: Spans | None
    values: Spans | None
    headers_at: Ints | None
    """Where the count of headers is."""
    ends: Ints
    offsets: Ints | None = None
    """Absolute ones, once they were checked."""


def find(group: Group, columns: Collection[str]) -> Fields:
    """Keys, values and headers only as far as `columns` asks for them."""
    data = np.frombuffer(memoryview(group.data).toreadonly(), np.uint8)
    words = varints.words_of(data)
    counts = np.array([header.record_count for header, _, _ in group.batches], np.int64)
    starts, ends = _starts_and_ends(group, words, counts)
    wants_values = "value" in columns or "headers" in columns
    keys = values = headers_at = None
    try:
        lengths, at = varints.read(data, words, starts)
        _check((lengths > 0) & (at + lengths == ends), "a record that is not as long as it says")
        time_deltas, at = _number(data, words, at + 1, ends, 64)
        offset_deltas, at = _number(data, words, at, ends)
        if wants_values or "key" in columns:
            keys, at = _spans(data, words, at, ends)
        if wants_values:
            values, at = _spans(data, words, at, ends)
        _check(at < ends, "a record that ends within its fields")
        if wants_values:
            _check((at + 1 == ends) | (data[at] != 0), "a record that goes on after its last field")
            headers_at = at
    except _BadRow as error:
        raise BadRecord(int(np.searchsorted(np.cumsum(counts), error.row, "right")), str(error)) from None
    return Fields(data, counts, offset_deltas, time_deltas, keys, values, headers_at, ends)


class _BadRow(ValueError):
    def __init__(self, row: int, why: str) -> None:
        super().__init__(why)
        self.row = row


def _starts_and_ends(group: Group, words: npt.NDArray[np.uint32], counts: Ints) -> tuple[Ints, Ints]:
    parts = []
    raw = bytes(group.data)  # plain Python walks through bytes faster than through a view
    for number, (header, start, stop) in enumerate(group.batches):
        try:
            parts += record_starts(raw, words, start, stop, header.record_count)
        except IndexError:
            raise BadRecord(number, f"the records end before the {header.record_count} declared") from None
        except ValueError as error:
            raise BadRecord(number, str(error)) from None
    starts = np.concatenate(parts).astype(np.int64, copy=False)
    ends = np.empty_like(starts)
    ends[:-1] = starts[1:]
    ends[np.cumsum(counts) - 1] = [stop for _, _, stop in group.batches]
    return starts, ends


def _number(
    data: Bytes, words: npt.NDArray[np.uint32], at: Ints, ends: Ints, bits: int = 32
) -> tuple[Ints, Ints]:
    _check(at < ends, "a record that ends within its fields")
    try:
        return varints.read(data, words, at, bits)
    except OutOfRange as error:
        raise _BadRow(error.row, str(error)) from None


def _spans(data: Bytes, words: npt.NDArray[np.uint32], at: Ints, ends: Ints) -> tuple[Spans, Ints]:
    """A length and so many bytes; -1 is null."""
    lengths, starts = _number(data, words, at, ends)
    negative = lengths < 0
    nulls = None
    if negative.any():
        _check(lengths >= -1, "a key or value of negative length")
        nulls = negative
        lengths[negative] = 0
    return Spans(starts, starts + lengths, nulls), starts + lengths


def _check(holds: npt.NDArray[np.bool_], why: str) -> None:
    if not holds.all():
        raise _BadRow(int(holds.argmin()), why)
