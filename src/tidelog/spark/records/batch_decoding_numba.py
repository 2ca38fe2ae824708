"""`fields.find` once more, compiled by numba: five times as fast, where numba is installed.

Results are the same to the last byte, and the same bytes are refused; only which of several faults an error
names may differ. Compiled code is kept on disk, so a worker pays for compiling once per machine.
"""

from collections.abc import Collection
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from tidelog.spark.records.bodies import Group
from tidelog.spark.records.fields import BadRecord, Fields, Spans
from tidelog.spark.records.varints import Bytes, Ints


def _compiled(function: Any) -> Any:
    """Kept on disk where there is a directory for it: some containers let us write nowhere."""
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        return numba.njit(nogil=True)(function)


_FAULTS = (
    "",
    "the records end before the number declared",
    "a record longer than what is left",
    "a record that ends within its fields",
    "a key or value of negative length",
    "a record that goes on after its last field",
    "bytes after the records declared",
)
_OFFSETS, _KEYS, _VALUES = 0, 1, 2


def find(group: Group, columns: Collection[str]) -> Fields:
    data = np.frombuffer(memoryview(group.data).toreadonly(), np.uint8)
    counts = np.array([header.record_count for header, _, _ in group.batches], np.int64)
    spans = np.array([(start, stop) for _, start, stop in group.batches], np.int64)
    # A record has seven bytes at least, so a count that lies asks for no memory.
    too_many = counts * 7 > spans[:, 1] - spans[:, 0]
    if too_many.any():
        batch = int(too_many.argmax())
        raise BadRecord(batch, f"the records end before the {counts[batch]} declared")
    depth = _OFFSETS
    if "value" in columns or "headers" in columns:
        depth = _VALUES
    elif "key" in columns:
        depth = _KEYS
    rows = int(counts.sum())
    numbers = np.empty((8, rows), np.int64)
    nulls = np.zeros((2, rows), np.bool_)
    fault, batch = _find(data, spans, counts, depth, numbers, nulls)
    if fault:
        raise BadRecord(int(batch), _FAULTS[fault])
    times, offsets, key_starts, key_stops, value_starts, value_stops, headers_at, ends = numbers
    keys = Spans(key_starts, key_stops, _or_none(nulls[0])) if depth >= _KEYS else None
    values = Spans(value_starts, value_stops, _or_none(nulls[1])) if depth >= _VALUES else None
    return Fields(
        data=data,
        counts=counts,
        offset_deltas=offsets,
        time_deltas=times,
        keys=keys,
        values=values,
        headers_at=headers_at if depth >= _VALUES else None,
        ends=ends,
    )


def _or_none(nulls: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_] | None:
    return nulls if nulls.any() else None


@_compiled
def _number(data: Bytes, at: int, end: int, bits: int) -> tuple[Any, int]:
    """(value, position after it); the position is -1 where there is no such number before `end`."""
    if at < end and data[at] < 128:
        first = np.int64(data[at])
        return (first >> 1) ^ -(first & 1), at + 1
    raw = np.uint64(0)
    for shift in range(0, bits, 7):
        if at >= end:
            return 0, -1
        byte = np.uint64(data[at])
        at += 1
        if shift + 7 > bits and byte >> np.uint64(bits - shift):
            return 0, -1
        raw |= (byte & np.uint64(127)) << np.uint64(shift)
        if byte < 128:
            return np.int64(raw >> np.uint64(1)) ^ -np.int64(raw & np.uint64(1)), at
    return 0, -1


@_compiled
def _find(  # noqa: PLR0917  compiled code takes its arguments by place
    data: Bytes,
    spans: Ints,
    counts: Ints,
    depth: int,
    numbers: Ints,
    nulls: npt.NDArray[np.bool_],
) -> tuple[int, int]:
    """Fills in the rows; (index of the fault, number of the batch), or (0, 0)."""
    row = 0
    for batch in range(len(counts)):
        at, stop = spans[batch, 0], spans[batch, 1]
        for _ in range(counts[batch]):
            length, at = _number(data, at, stop, 32)
            if at < 0:
                return 1, batch
            end = at + length
            if length <= 0 or end > stop:
                return 2, batch
            numbers[7, row] = end
            numbers[0, row], at = _number(data, at + 1, end, 64)
            if at < 0:
                return 3, batch
            numbers[1, row], at = _number(data, at, end, 32)
            if at < 0:
                return 3, batch
            for part in range(depth):
                length, at = _number(data, at, end, 32)
                if at < 0:
                    return 3, batch
                if length < 0:
                    if length != -1:
                        return 4, batch
                    nulls[part, row] = True
                    length = 0
                numbers[2 + 2 * part, row] = at
                at += length
                numbers[3 + 2 * part, row] = at
            if at >= end:
                return 3, batch
            if depth == 2:
                if data[at] == 0 and at + 1 != end:
                    return 5, batch
                numbers[6, row] = at
            at = end
            row += 1
        if at != stop:
            return 6, batch
    return 0, 0
