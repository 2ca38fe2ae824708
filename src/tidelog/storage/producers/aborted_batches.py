"""Aborted transactions as the batches of a log show them, for when an index file is in doubt."""

from tidelog.base.errors import KafkaError
from tidelog.base.ids import Offset
from tidelog.storage.log_files import LogFiles
from tidelog.storage.producers.replay import replay_aborted
from tidelog.storage.producers.snapshot_files import ProducerSnapshotFiles
from tidelog.storage.segment.segments import SegmentList
from tidelog.storage.segment.transaction_index import Aborted


class AbortedBatches:
    __slots__ = ("_files", "_segments", "_snapshots")

    def __init__(self, files: LogFiles, segments: SegmentList, snapshots: ProducerSnapshotFiles) -> None:
        self._files = files
        self._segments = segments
        self._snapshots = snapshots

    def replay(self, base: Offset) -> list[Aborted]:
        """The index of a segment cannot be right: learn from the batches."""
        segments = self._segments.all
        producers = self._snapshots.at_or_below(base, segments[0].base)
        return replay_aborted(segments, producers, base)

    def has(self, entry: Aborted) -> bool:
        """By the batches at both ends, which compaction may have taken away."""
        if self._files.config.compact:
            return True
        try:
            marker, first = self._segments.locate(entry.last), self._segments.locate(entry.first)
        except KafkaError:
            return True  # a damaged batch says nothing of the index
        ends = marker is not None and marker.is_control and marker.producer_id == entry.producer_id
        if not ends or entry.first < self._segments.first_base:
            return ends
        return (
            first is not None
            and not first.is_control
            and first.base_offset == entry.first
            and first.producer_id == entry.producer_id
        )
