"""The indexes of a segment, compared with the segment where it lies beside them.

Kafka reserves an index's full size and cuts it when the segment is sealed, so a tail of zeros is no damage.
"""

import os
import struct
from collections.abc import Iterator

from tidelog.cli.log.dumped import Dumped, moment
from tidelog.cli.log.files import open_read_only, read_bytes
from tidelog.storage.segment.time_index import ENTRY as TIME_ENTRY
from tidelog.wire.batch import HEADER, BatchHeader, read_header

OFFSET_ENTRY = struct.Struct(">ii")  # relative last offset, position: as in storage.offset_index
TXN_ENTRY = struct.Struct(">hqqqq")  # version, producer id, first, last, last stable offset


def dump_offset_index(path: str, base: int) -> Iterator[Dumped]:
    yield Dumped("heading", f"{'Last offset':>20}  {'Position':>12}  Segment", {"base_offset": base})
    batches = BatchesAt(path, ".index")
    last_relative, last_position = -1, -1
    why: str | None
    for relative, position in _entries(path, OFFSET_ENTRY):
        offset = base + relative
        if relative <= last_relative or position <= last_position:
            why = "not above the entry before it"
        else:
            why = batches.fault(position, offset)
        last_relative, last_position = relative, position
        facts = {"offset": offset, "position": position, "why": why}
        verdict = why or batches.agreed
        yield Dumped(
            "entry", f"{offset:>20}  {position:>12}  {verdict}", facts, damage=bool(why), counts=True
        )
    yield from _odd_tail(path, OFFSET_ENTRY)


def dump_time_index(path: str, base: int) -> Iterator[Dumped]:
    yield Dumped("heading", f"{'Newest so far':<24}  {'Last offset':>20}  Order", {"base_offset": base})
    last_timestamp, last_relative = -1, -1
    for timestamp, relative in _entries(path, TIME_ENTRY):
        ordered = timestamp > last_timestamp and relative > last_relative
        # The entry that seals a segment repeats its last one when nothing newer came.
        ordered = ordered or (timestamp, relative) == (last_timestamp, last_relative)
        why = None if ordered else "not above the entry before it"
        last_timestamp, last_relative = timestamp, relative
        facts = {"timestamp": timestamp, "offset": base + relative, "why": why}
        shown = f"{moment(timestamp):<24}  {base + relative:>20}  {why or 'ok'}"
        yield Dumped("entry", shown, facts, damage=bool(why), counts=True)
    yield from _odd_tail(path, TIME_ENTRY)


def dump_txn_index(path: str, base: int) -> Iterator[Dumped]:
    yield Dumped(
        "heading", f"{'Producer':>20}  {'First':>12}  {'Last':>12}  Last stable", {"base_offset": base}
    )
    for version, producer_id, first, last, stable in _entries(path, TXN_ENTRY, padded=False):
        why = None if version == 0 and 0 <= first <= last else f"version {version}, offsets {first} to {last}"
        facts = {"producer_id": producer_id, "first": first, "last": last, "last_stable": stable, "why": why}
        shown = f"{producer_id:>20}  {first:>12}  {last:>12}  {stable}" + (f"  {why}" if why else "")
        yield Dumped("entry", shown, facts, damage=bool(why), counts=True)
    yield from _odd_tail(path, TXN_ENTRY)


def _entries(path: str, entry: struct.Struct, *, padded: bool = True) -> Iterator[tuple[int, ...]]:
    raw = read_bytes(path)
    if padded:
        used = len(raw.rstrip(b"\0"))
        raw = raw[: -(-used // entry.size) * entry.size]
    return entry.iter_unpack(raw[: len(raw) // entry.size * entry.size])


def _odd_tail(path: str, entry: struct.Struct) -> Iterator[Dumped]:
    size = len(read_bytes(path))
    if left := size % entry.size:
        why = f"{size} bytes are not a multiple of {entry.size}: {left} are left over"
        yield Dumped("damage", why, {"position": size - left, "size": left, "why": why}, damage=True)


class BatchesAt:
    """Asks the segment of an index what is at a position."""

    def __init__(self, index_path: str, suffix: str) -> None:
        path = index_path.removesuffix(".deleted").removesuffix(suffix) + ".log"
        self._file = open_read_only(path) if os.path.exists(path) else None
        self.agreed = "ok" if self._file else "(no .log file beside it)"

    def fault(self, position: int, last_offset: int) -> str | None:
        if self._file is None:
            return None
        raw = self._file.read_at(position, HEADER.size) if position >= 0 else b""
        if len(raw) < HEADER.size:
            return f"position {position} is not in the segment of {self._file.size()} bytes"
        header: BatchHeader = read_header(raw)
        if header.last_offset != last_offset:
            return f"the batch there ends at offset {header.last_offset}"
        return None
