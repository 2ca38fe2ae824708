"""Reads the records that become dead letters, in a thread, and never more bytes than one batch of them takes.

A record that the log has no more, or that is damaged, is left out: its dead letter says so. An error of the
disk is no such record: it is raised, and the read is tried again later.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Offset
from tidelog.base.ports import FileSlice
from tidelog.broker.log_dirs.flusher import RunInThread
from tidelog.replication.partition import Partition
from tidelog.storage.segment.batch_walk import walk
from tidelog.wire.batch import crc_ok
from tidelog.wire.record import read_records
from tidelog.wire.record_body import Record

SLICE_BYTES: Final = 256 * 1024
"""Looked through at once for the records; only batches that have some are read."""


class FoundRecords(NamedTuple):
    records: dict[Offset, Record]
    covered: int
    """How many of the offsets, from the first on, were looked for."""


async def read_failed(
    partition: Partition, offsets: Sequence[Offset], bytes_max: int, run_in_thread: RunInThread
) -> FoundRecords:
    """The records at these ascending offsets, until they have `bytes_max` bytes: the first always counts.

    KafkaError or OSError if the disk cannot be read.
    """
    records: dict[Offset, Record] = {}
    size = at = 0
    while at < len(offsets) and size < bytes_max:
        log = partition.log
        offset = offsets[at]
        if not log.start <= offset < log.end:
            at += 1
            continue
        read = log.read(offset, SLICE_BYTES, end=log.end)
        if read is None:
            at += 1
            continue
        piece: _Piece = await run_in_thread(partial(_pick, read.slice, offsets[at:], bytes_max - size))
        records.update(piece.records)
        size += piece.size
        at += max(1, piece.covered)
    return FoundRecords(records, at)


class _Piece(NamedTuple):
    records: dict[Offset, Record]
    size: int
    covered: int


def _pick(part: FileSlice, wanted: Sequence[Offset], bytes_max: int) -> _Piece:
    records: dict[Offset, Record] = {}
    size = covered = 0
    try:
        for position, header in walk(part.file, part.position, part.position + part.length):
            stop = covered
            while stop < len(wanted) and wanted[stop] <= header.last_offset:
                stop += 1
            if stop == covered:
                continue
            of_batch = set(wanted[covered:stop])
            covered = stop
            batch = part.file.read_at(position, header.size)
            if len(batch) == header.size and crc_ok(batch, 0, header):
                for record in _records_of(batch):
                    if record.offset in of_batch:
                        records[record.offset] = record
                        size += _bytes_of(record)
            if covered == len(wanted) or size >= bytes_max:
                break
    except KafkaError as error:
        if error.code is not ErrorCode.CORRUPT_MESSAGE:
            raise
    return _Piece(records, size, covered)


def _records_of(batch: bytes) -> list[Record]:
    try:
        return read_records(batch)
    except KafkaError:  # no client can read it either
        return []


def _bytes_of(record: Record) -> int:
    size = len(record.key or b"") + len(record.value or b"")
    return size + sum(len(name) + len(value or b"") for name, value in record.headers)
