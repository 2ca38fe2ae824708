"""Files that no longer belong to a log, renamed so that a restart knows it, and removed later.

The delay lets readers that are under way finish; the removal of a large file may take a thread's time.
"""

from tidelog.base.ids import Offset, TimestampMs
from tidelog.base.ports import Disk
from tidelog.storage.file_names import DELETED, SEGMENT_SUFFIXES
from tidelog.storage.segment.segment import Segment


class SegmentDeletion:
    """One segment that is gone from the log; `run` removes its files."""

    __slots__ = ("_disk", "_paths", "base", "remove_at_ms", "size")

    def __init__(
        self, disk: Disk, base: Offset, size: int, paths: list[str], remove_at_ms: TimestampMs
    ) -> None:
        self._disk = disk
        self._paths = paths
        self.base = base
        self.size = size
        self.remove_at_ms = remove_at_ms
        """When `file.delete.delay.ms` will have passed."""

    def run(self) -> None:
        """Raises OSError; what is left is removed at the next start."""
        for path in self._paths:
            self._disk.remove(path)


def mark_for_deletion(segment: Segment, remove_at_ms: TimestampMs) -> SegmentDeletion:
    """Take the segment's files out of the log by renaming them.

    The `.log` goes first: indexes without it are recognised as litter at the next start.
    """
    disk = segment.files.disk
    paths = []
    for suffix in SEGMENT_SUFFIXES:
        path = segment.path + suffix
        if disk.exists(path):
            disk.rename(path, path + DELETED)
            paths.append(path + DELETED)
    segment.release()
    return SegmentDeletion(disk, segment.base, segment.size, paths, remove_at_ms)
