"""Record batches, as a broker sends them or a segment holds them, to Arrow columns, by numpy.

The fields of all records are found as arrays of positions. Keys and values are then views into the bytes as
they came, which one `take` each copies into Arrow's own layout. Whatever cannot be right raises KafkaError.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from tidelog.base.ids import Offset, ProducerId
from tidelog.base.ports import Buffer
from tidelog.spark.records.aborted import AbortedFilter
from tidelog.spark.records.binary_columns import binary_column, number_column
from tidelog.spark.records.bodies import GROUP_BYTES_MAX, Group, corrupt, groups
from tidelog.spark.records.engines import AUTO, Engine, engine_named
from tidelog.spark.records.fields import BadRecord, Fields
from tidelog.spark.records.header_columns import HEADERS, header_column
from tidelog.spark.records.varints import Ints

COLUMNS: Final = ("key", "value", "offset", "timestamp", "timestampType")
"""Those of a record; `headers` can be asked for too. `topic` and `partition` are the reader's to add."""
TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
TYPES: Final = {
    "key": pa.binary(),
    "value": pa.binary(),
    "offset": pa.int64(),
    "timestamp": TIMESTAMP,
    "timestampType": pa.int32(),
    "headers": HEADERS,
}
_MS_MAX = (2**63 - 1) // 1000


@dataclass(frozen=True, slots=True)
class Decoded:
    """Some rows of a partition, in the order of their offsets."""

    rows: int
    next_offset: Offset
    """Where to read on; beyond the last row where markers, aborted or compacted records followed it."""
    columns: dict[str, pa.Array]


def decode(
    records: Buffer,
    start: Offset,
    end: Offset,
    *,
    columns: Collection[str] = COLUMNS,
    aborted: AbortedFilter | Iterable[tuple[ProducerId, Offset]] = (),
    check_crcs: bool = True,
    engine: str = AUTO,
    group_bytes_max: int = GROUP_BYTES_MAX,
) -> Iterator[Decoded]:
    """The records with offsets from `start` up to but without `end`, in one or more portions of bounded size.

    The last portion's `next_offset` equals `start` only where `records` holds no whole batch at all.
    """
    aborting = aborted if isinstance(aborted, AbortedFilter) else AbortedFilter(aborted)
    chosen = engine_named(engine)
    for group in groups(
        records, start, end, aborted=aborting, check_crcs=check_crcs, bytes_max=group_bytes_max
    ):
        yield _decode_group(group, start, end, columns, chosen)


def _decode_group(
    group: Group, start: Offset, end: Offset, columns: Collection[str], chosen: Engine
) -> Decoded:
    next_offset = min(group.next_offset, end)
    if not group.batches:
        return Decoded(0, next_offset, {name: pa.array([], TYPES[name]) for name in columns})
    try:
        found = chosen.find(group, columns)
        offsets = _offsets(group, found)
        first, stop = np.searchsorted(offsets, (start, end))
        rows = _Rows(group, found, offsets, slice(int(first), int(stop)))
        made = {name: rows.column(name) for name in columns}
    except BadRecord as error:
        raise corrupt(group.batches[error.batch][0], str(error)) from None
    return Decoded(int(stop - first), next_offset, made)


class _Rows(NamedTuple):
    """What the columns of a group are made of; `wanted` are the rows within the range."""

    group: Group
    found: Fields
    offsets: Ints
    wanted: slice

    def column(self, name: str) -> pa.Array:
        found, wanted = self.found, self.wanted
        match name:
            case "offset":
                return number_column(pa.int64(), self.offsets[wanted])
            case "timestamp":
                return _timestamps(self.group, found, wanted)
            case "timestampType":
                kinds = np.array([header.is_log_append_time for header, _, _ in self.group.batches], np.int32)
                return number_column(pa.int32(), np.repeat(kinds, found.counts)[wanted])
            case "key" if found.keys is not None:
                return binary_column(found.data, found.keys.sliced(wanted))
            case "value" if found.values is not None:
                return binary_column(found.data, found.values.sliced(wanted))
            case "headers" if found.headers_at is not None:
                return header_column(found, found.headers_at, wanted)
        raise ValueError(f"{name!r} is not a column of a record")


def _offsets(group: Group, found: Fields) -> Ints:
    """Absolute ones, which must ascend and stay within their batch: a row is never given a wrong one."""
    bases = np.array([header.base_offset for header, _, _ in group.batches], np.int64)
    lasts = np.array([header.last_offset_delta for header, _, _ in group.batches], np.int64)
    deltas = found.offset_deltas
    offsets = np.repeat(bases, found.counts) + deltas
    stops = np.cumsum(found.counts)
    within = (deltas[stops - found.counts] >= 0) & (deltas[stops - 1] <= lasts)
    if not within.all():
        raise BadRecord(int(within.argmin()), "a record whose offset is outside of the batch")
    ascend = offsets[1:] > offsets[:-1]
    if not ascend.all():
        row = int(ascend.argmin()) + 1
        raise BadRecord(int(np.searchsorted(stops, row, "right")), "records whose offsets do not ascend")
    return offsets


def _timestamps(group: Group, found: Fields, rows: slice) -> pa.Array:
    """Of a batch with log-append time every record has the time of the batch."""
    headers = [header for header, _, _ in group.batches]
    appended = np.array([header.is_log_append_time for header in headers])
    bases = np.array(
        [header.max_timestamp if header.is_log_append_time else header.base_timestamp for header in headers],
        np.int64,
    )
    deltas = found.time_deltas
    if appended.any():
        deltas = np.where(np.repeat(appended, found.counts), 0, deltas)
    # Spark counts microseconds, so it has no room for the outer thousandths of what 64 bits can say.
    possible = np.abs(bases) <= _MS_MAX
    if not possible.all():
        raise BadRecord(int(possible.argmin()), f"a timestamp of {bases[possible.argmin()]} ms")
    times = np.repeat(bases, found.counts) + deltas
    possible = (np.abs(times) <= _MS_MAX) & (np.abs(deltas) <= 2 * _MS_MAX)
    if not possible.all():
        row = int(possible.argmin())
        batch = int(np.searchsorted(np.cumsum(found.counts), row, "right"))
        raise BadRecord(batch, f"a timestamp of {bases[batch]} + {deltas[row]} ms")
    return number_column(TIMESTAMP, times[rows] * 1000)
