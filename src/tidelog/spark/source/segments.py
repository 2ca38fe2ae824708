"""Direct reads: sealed segments straight from a broker's log dir, and the rest over the network.

The broker decides what may be read: the range was planned by its offsets, and its log start is asked for
again here. Any obstacle (no such directory, a file that vanished or was compacted meanwhile, bytes that do
not fit) sends the range over the network, from the offset where the files ended.
"""

import logging
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from tidelog.base.errors import KafkaError
from tidelog.base.ids import Offset
from tidelog.blocking.cluster import Cluster, TopicPartition
from tidelog.blocking.errors import Disconnected, NoSuchTopic
from tidelog.blocking.log_bounds import LogBounds
from tidelog.spark.records.aborted import AbortedFilter
from tidelog.spark.records.batch_decoding import Decoded, decode
from tidelog.spark.records.engines import AUTO
from tidelog.spark.source.partition_directory import (
    PartitionDirectory,
    SealedSegment,
    Unreadable,
    find_partition_directory,
)
from tidelog.spark.source.planning import OffsetRange
from tidelog.spark.source.transaction_check import TransactionCheck
from tidelog.wire.batch import HEADER, LENGTH_MIN, MAGIC, iter_batches, read_header

READ_BYTES = 2 * 1024 * 1024
_log = logging.getLogger("tidelog.spark")

Rows = Iterator[tuple[TopicPartition, Decoded]]


class SegmentReader:
    def __init__(
        self,
        cluster: Cluster,
        ranges: Sequence[OffsetRange],
        over_network: Callable[[Sequence[OffsetRange]], Iterable[tuple[TopicPartition, Decoded]]],
        columns: Collection[str],
        *,
        read_committed: bool,
        log_dirs: Sequence[str] = (),
        engine: str = AUTO,
    ) -> None:
        """`over_network` reads what the files do not have."""
        self._cluster, self._ranges, self._over_network = cluster, ranges, over_network
        self._columns, self._engine = columns, engine
        self._read_committed, self._log_dirs = read_committed, log_dirs
        self.rows_from_files = 0

    def __iter__(self) -> Rows:
        rest = []
        starts = self._log_starts()
        for wanted in self._ranges:
            reached = wanted.start
            if starts.get(wanted.partition, wanted.end) <= wanted.start:
                for portion in self._from_files(wanted):
                    reached = portion.next_offset
                    self.rows_from_files += portion.rows
                    if portion.rows:
                        yield wanted.partition, portion
            if reached < wanted.end:
                rest.append(replace(wanted, start=reached))
        if rest:
            yield from self._over_network(rest)

    def _log_starts(self) -> dict[TopicPartition, Offset]:
        """Files may still hold what was deleted: the network reader knows what to do about such a range."""
        bounds = LogBounds(self._cluster, read_committed=self._read_committed)
        try:
            return bounds.earliest({wanted.partition for wanted in self._ranges})
        except (KafkaError, Disconnected, NoSuchTopic):
            return {}

    def _from_files(self, wanted: OffsetRange) -> Iterator[Decoded]:
        """As far as sealed segments reach; ends early, without an error, where anything is in doubt."""
        reached = wanted.start
        try:
            partition_dir = find_partition_directory(
                self._cluster, wanted.partition, wanted.topic_id, self._log_dirs
            )
            transactions = TransactionCheck(partition_dir)
            for segment in partition_dir.sealed():
                if segment.next_base <= reached or segment.base >= wanted.end:
                    continue
                if segment.base > reached:
                    raise Unreadable(f"no segment holds offset {reached}")
                for portion in self._from_segment(partition_dir, segment, reached, wanted.end, transactions):
                    reached = portion.next_offset
                    yield portion
        except (Unreadable, KafkaError, Disconnected, OSError) as error:
            _log.info("%s is read over the network from offset %d on: %s", wanted.partition, reached, error)

    def _from_segment(
        self,
        partition_dir: PartitionDirectory,
        segment: SealedSegment,
        start: Offset,
        end: Offset,
        transactions: TransactionCheck,
    ) -> Iterator[Decoded]:
        """To its end, or up to `end` if that comes first."""
        descriptor = partition_dir.open(segment.base)
        try:
            position = _first_position(partition_dir, segment, descriptor, start)
            known = partition_dir.aborted(segment.base, start) if self._read_committed else []
            if self._read_committed:
                transactions.check(segment, descriptor, position, range(start, end), known)
            aborted = AbortedFilter((entry.producer_id, entry.first) for entry in known)
            if not partition_dir.is_current(segment.base, descriptor):
                raise Unreadable(f"the segment at {segment.base} was replaced")
            reached, end = start, min(end, segment.next_base)
            for batches in _chunks(partition_dir, segment, descriptor, position):
                for portion in decode(
                    batches, reached, end, columns=self._columns, aborted=aborted, engine=self._engine
                ):
                    yield portion
                reached = portion.next_offset
                if reached >= end:
                    return
            # Compaction may have taken the last records. What follows must be there to say so.
            if not partition_dir.exists(segment.next_base):
                raise Unreadable(f"the segment at {segment.next_base} is gone")
            yield Decoded(0, end, {})
        finally:
            os.close(descriptor)


def _first_position(
    partition_dir: PartitionDirectory, segment: SealedSegment, descriptor: int, start: Offset
) -> int:
    """Of the batch that holds `start`, or of one before it."""
    position = partition_dir.position_before(segment.base, start, os.fstat(descriptor).st_size)
    if position and not _begins_at_or_below(os.pread(descriptor, HEADER.size, position), start):
        return 0
    return position


def _chunks(
    partition_dir: PartitionDirectory, segment: SealedSegment, descriptor: int, position: int
) -> Iterator[bytes]:
    """Whole batches from `position` up to the end of the file."""
    size = os.fstat(descriptor).st_size
    length = READ_BYTES
    while position < size:
        chunk = os.pread(descriptor, length, position)
        used = 0
        for at, header in iter_batches(chunk):
            used = at + header.size
        if used:
            yield chunk
            position, length = position + used, READ_BYTES
            continue
        next_size = read_header(chunk).size
        if next_size <= len(chunk) or position + next_size > size:
            raise Unreadable(f"{partition_dir.path}: the segment at {segment.base} ends within a batch")
        length = next_size


def _begins_at_or_below(raw: bytes, start: Offset) -> bool:
    if len(raw) < HEADER.size:
        return False
    header = read_header(raw)
    return header.magic == MAGIC and header.length >= LENGTH_MIN and header.base_offset <= start
