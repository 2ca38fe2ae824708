"""The segments of a log in order: sealed ones, and the active one at the end. Finds, reads, adds, drops.

Nothing here decides when; the log does.
"""

from bisect import bisect_right

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Offset, TimestampMs
from tidelog.storage.segment.active import ActiveSegment, activate
from tidelog.storage.segment.segment import LogRead, Segment
from tidelog.storage.segment_deletion import SegmentDeletion, mark_for_deletion
from tidelog.wire.batch import BatchHeader


class SegmentList:
    __slots__ = ("_bases", "active", "sealed", "sealed_bytes")

    def __init__(self, sealed: list[Segment], active: ActiveSegment) -> None:
        self.sealed = sealed
        self.active = active
        self._bases = [segment.base for segment in sealed]
        self.sealed_bytes = sum(segment.size for segment in sealed)

    @property
    def all(self) -> list[Segment]:
        return [*self.sealed, self.active]

    @property
    def bases(self) -> list[Offset]:
        return [*self._bases, self.active.base]

    @property
    def first_base(self) -> Offset:
        return self._bases[0] if self._bases else self.active.base

    @property
    def size_bytes(self) -> int:
        return self.sealed_bytes + self.active.size

    def push(self, sealed: Segment, active: ActiveSegment) -> None:
        """The active segment has been sealed, and a new one follows it."""
        self.sealed.append(sealed)
        self._bases.append(sealed.base)
        self.sealed_bytes += sealed.size
        self.active = active

    def read_sealed(self, offset: Offset, max_bytes: int, end: Offset, min_one: bool) -> LogRead | None:
        """From the segment that holds `offset`, or the next where it ends in a gap.

        Segments of which compaction left no record are passed over, as long as there is one behind them: some
        clients take answers without records for a limit that is too small, and give up after a few.
        """
        segments = self.all
        without_records: LogRead | None = None
        for number in range(max(0, bisect_right(self._bases, offset) - 1), len(segments)):
            segment = segments[number]
            if segment.base >= end:
                break
            is_hidden = number + 1 == len(segments) or segments[number + 1].base > end
            found = segment.read(offset, max_bytes, end if is_hidden else None, min_one)
            above = end if is_hidden else segments[number + 1].base
            if found is not None and found.first_batch_offset >= above:
                raise out_of_place(segment, found)
            if found is not None and segment.is_without_records(found):
                without_records = without_records or found
                continue
            if found is not None or segment.locate(offset) is not None:
                return found or without_records
        return without_records

    def locate(self, offset: Offset) -> BatchHeader | None:
        """The header of the first batch that ends at or above `offset`, of the segment that it belongs to."""
        segment = self.all[max(0, bisect_right(self.bases, offset) - 1)]
        found = segment.locate(offset)
        return None if found is None else found[1]

    def drop_oldest(self, count: int, remove_at_ms: TimestampMs) -> list[SegmentDeletion]:
        deletions = []
        for _ in range(count):
            deletions.append(mark_for_deletion(self.sealed[0], remove_at_ms))
            self.sealed_bytes -= self.sealed[0].size
            del self.sealed[0], self._bases[0]
        return deletions

    def drop_above(self, offset: Offset, now_ms: TimestampMs) -> list[SegmentDeletion]:
        """Drop the segments that begin above `offset`; the one that holds it becomes the active one.

        The newest goes first, so that what a crash leaves is always a log.
        """
        deletions = []
        while self.active.base > offset:
            deletions.append(mark_for_deletion(self.active, now_ms))
            del self._bases[-1]
            last = self.sealed.pop()
            self.sealed_bytes -= last.size
            self.active = activate(last)
        return deletions

    def find_run(self, run: list[Segment]) -> int | None:
        """Where these very segments stand, one behind the other; None unless they do."""
        for place, segment in enumerate(self.sealed):
            if segment is run[0]:
                found = self.sealed[place : place + len(run)]
                same = len(found) == len(run) and all(a is b for a, b in zip(found, run, strict=True))
                return place if same else None
        return None

    def replace_run(self, place: int, count: int, segment: Segment) -> None:
        self.sealed[place : place + count] = [segment]
        self._bases[place : place + count] = [segment.base]
        self.sealed_bytes = sum(one.size for one in self.sealed)

    def restart(self, active: ActiveSegment) -> None:
        """Everything has been dropped; the log begins anew."""
        self.sealed.clear()
        self._bases.clear()
        self.sealed_bytes = 0
        self.active = active


def out_of_place(segment: Segment, found: LogRead) -> KafkaError:
    """No CRC covers a batch's offset. A reader that believed a wrong one would skip all that follows."""
    return KafkaError(
        ErrorCode.CORRUPT_MESSAGE,
        f"the batch in {segment.path}.log at {found.slice.position} claims offset {found.first_batch_offset}",
    )
