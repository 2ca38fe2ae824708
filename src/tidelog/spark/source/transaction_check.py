"""Whether the indexes of aborted transactions say all that the batches of a segment ask for.

An index that is lost looks like one that was never needed, and rows of aborted transactions would be taken
for committed. So the markers are looked for, in the segment and behind it, before a row is handed on: each
that aborts records of the segment must be in an index.
"""

import os
from collections.abc import Collection, Iterator

from tidelog.base.ids import Offset, ProducerId
from tidelog.spark.source.partition_directory import PartitionDirectory, SealedSegment, Unreadable
from tidelog.storage.segment.transaction_index import Aborted
from tidelog.wire.batch import HEADER, LENGTH_MIN, MAGIC, BatchHeader, read_header
from tidelog.wire.record import ControlType, read_control

WINDOW_BYTES = 64 * 1024


class TransactionCheck:
    """Of one partition directory. Feed it segments in order: it remembers markers from far ahead."""

    def __init__(self, partition_dir: PartitionDirectory) -> None:
        self._partition_dir = partition_dir
        self._decided: dict[ProducerId, Offset] = {}

    def check(
        self,
        segment: SealedSegment,
        descriptor: int,
        position: int,
        wanted: range,
        known: Collection[Aborted],
    ) -> None:
        """Unreadable if a transaction with records at the offsets `wanted` was aborted and is not `known`.

        All of them are decided, and lie at `position` in the file or behind it.
        """
        aborted = {(entry.producer_id, entry.last) for entry in known}
        open_now: set[ProducerId] = set()
        for at, header in _headers(descriptor, position):
            if header.is_control:
                self._complete(open_now, descriptor, at, header, aborted)
            elif header.base_offset >= wanted.stop:
                if not open_now:
                    return
            elif (
                header.is_transactional
                and header.record_count
                and header.last_offset >= wanted.start
                and self._decided.get(header.producer_id, -1) < header.base_offset
            ):
                open_now.add(header.producer_id)
        self._look_ahead(segment.next_base, open_now, aborted)

    def _look_ahead(
        self, base: Offset, open_now: set[ProducerId], aborted: Collection[tuple[ProducerId, Offset]]
    ) -> None:
        for following in self._partition_dir.bases_from(base):
            if not open_now:
                return
            descriptor = self._partition_dir.open(following)
            try:
                for at, header in _headers(descriptor, 0):
                    if header.is_control and header.producer_id in open_now:
                        self._complete(open_now, descriptor, at, header, aborted)
                        self._decided[header.producer_id] = header.base_offset
                        if not open_now:
                            return
            finally:
                os.close(descriptor)
        if open_now:
            raise Unreadable(f"{self._partition_dir.path}: a transaction without a marker")

    def _complete(
        self,
        open_now: set[ProducerId],
        descriptor: int,
        at: int,
        header: BatchHeader,
        aborted: Collection[tuple[ProducerId, Offset]],
    ) -> None:
        if header.producer_id not in open_now:
            return
        open_now.discard(header.producer_id)
        control = read_control(os.pread(descriptor, header.size, at))
        is_abort = control is not None and control.type == ControlType.ABORT
        if is_abort and (header.producer_id, header.base_offset) not in aborted:
            raise Unreadable(f"{self._partition_dir.path}: the abort at {header.base_offset} is in no index")


def _headers(descriptor: int, position: int) -> Iterator[tuple[int, BatchHeader]]:
    """Positions and headers of the whole batches of a file, without their records."""
    size = os.fstat(descriptor).st_size
    window, window_at = b"", position
    while position + HEADER.size <= size:
        if position + HEADER.size > window_at + len(window):
            window, window_at = os.pread(descriptor, WINDOW_BYTES, position), position
        header = read_header(window, position - window_at)
        if header.magic != MAGIC or header.length < LENGTH_MIN:
            raise Unreadable(f"no batch at {position}: magic {header.magic}, length {header.length}")
        if position + header.size > size:
            return
        yield position, header
        position += header.size
