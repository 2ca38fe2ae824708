"""Compaction as its log takes part in it: the cleanable range, what a run needs, and taking in its result."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidelog.base.ids import Offset, TimestampMs
from tidelog.base.weak import weak
from tidelog.storage.compaction import cleanable, swap
from tidelog.storage.compaction.cleanable import CleanableRange
from tidelog.storage.compaction.cleaned_segment import Cleaned
from tidelog.storage.compaction.compaction import Compaction
from tidelog.storage.compaction.groups import Source
from tidelog.storage.compaction.transaction_outcomes import TransactionOutcomes
from tidelog.storage.file_names import LOG
from tidelog.storage.segment.segment import Segment
from tidelog.storage.segment_deletion import SegmentDeletion, mark_for_deletion

if TYPE_CHECKING:
    from tidelog.storage.log import PartitionLog


class LogCompaction:
    __slots__ = ("_log", "cleaned_to", "copies_under_way")

    def __init__(self, log: "PartitionLog") -> None:
        self._log = weak(log)
        self.cleaned_to: Offset | None = None
        """Compaction has seen everything below; None where that is not known."""
        self.copies_under_way = 0
        """Compaction waits for them: a copy that has a value must not miss the tombstone that deletes it."""

    def cleanable(self, stable_below: Offset, now_ms: TimestampMs) -> CleanableRange:
        """What waits for compaction, of what lies below `stable_below` and below every open transaction."""
        log = self._log
        unstable = log.producers.first_unstable(stable_below)
        return cleanable.measure(
            log.segments,
            log.config,
            start=log.start,
            end=log.end,
            cleaned_to=self.cleaned_to,
            stable_below=stable_below if unstable is None else min(stable_below, unstable),
            now_ms=now_ms,
        )

    def begin(self, dirty: CleanableRange, now_ms: TimestampMs, key_bytes_max: int) -> Compaction:
        """All that a run needs to compact the log elsewhere; nothing happens to the log yet."""
        log = self._log
        sealed, ends = log.segment_list.sealed, log.segment_list.bases[1:]
        sources = [
            Source(segment, segment.base, end, segment.size, segment.path)
            for segment, end in zip(sealed, ends, strict=True)
            if log.start < end <= dirty.end
        ]
        paths = [
            (segment.path + LOG, segment.size)
            for segment, end in zip(log.segments, [*ends, log.end], strict=True)
            if segment.size and end > dirty.start
        ]
        producers = list(log.producers)
        log.producer_state.aborted.repair()
        return Compaction(
            log.files.disk,
            log.config,
            sources,
            first_dirty=dirty.start,
            outcomes=TransactionOutcomes(log.files.disk, paths),
            producers={number: one.batches[-1].last_offset for number, one in producers if one.batches},
            epochs={number: one.epoch for number, one in producers if not one.batches},
            truncations=log.truncations,
            key_bytes_max=key_bytes_max,
            now_ms=now_ms,
        )

    def holds(self, sources: Sequence[Source], truncations: int) -> bool:
        """Whether these segments are as they were when a compaction was planned."""
        return truncations == self._log.truncations and self._place_of(sources) is not None

    def _place_of(self, sources: Sequence[Source]) -> int | None:
        return self._log.segment_list.find_run([source.segment for source in sources])

    def finish(self, cleaned: Cleaned, now_ms: TimestampMs) -> list[SegmentDeletion] | None:
        """Take in a compacted segment. None if the log changed meanwhile: then it is thrown away.

        An OSError before the swap is decided on leaves the log as it was; after that it takes it offline.
        """
        log, files, path = self._log, self._log.files, cleaned.sources[0].path
        place = self._place_of(cleaned.sources) if cleaned.truncations == log.truncations else None
        if place is None or log.offline is not None:
            swap.discard(files.disk, path)
            return None
        log.leave_journal()
        swap.decide(files.disk, path)
        with log.health.disk_errors():
            files.sync()
            replaced = [source.segment for source in cleaned.sources]
            created_ms = max(segment.created_ms for segment in replaced)
            remove_at_ms = now_ms + log.config.file_delete_delay_ms
            deletions = [mark_for_deletion(segment, remove_at_ms) for segment in reversed(replaced)]
            files.sync()
            swap.give_final_names(files.disk, path)
            segment = Segment(files, replaced[0].base, cleaned.size, created_ms)
            segment.adopt(None, cleaned.newest)
            log.segment_list.replace_run(place, len(replaced), segment)
            log.producer_state.replaced()
            return deletions

    def truncated(self, end: Offset) -> None:
        if self.cleaned_to is not None:
            self.cleaned_to = min(self.cleaned_to, end)
