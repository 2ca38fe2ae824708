"""The `.snapshot` files of a partition directory: which there are, the newest that is good, and new ones."""

from bisect import bisect_right, insort

from tidelog.base.errors import StorageError
from tidelog.base.ids import Offset
from tidelog.base.ports import Disk, read_file
from tidelog.storage.file_names import SNAPSHOT, file_name
from tidelog.storage.producers import snapshot as producer_snapshot
from tidelog.storage.producers.producers import Producers


class ProducerSnapshotFiles:
    __slots__ = ("_directory", "_disk", "_offsets")

    def __init__(self, disk: Disk, directory: str, offsets: list[Offset]) -> None:
        self._disk = disk
        self._directory = directory
        self._offsets = sorted(offsets)

    @property
    def offsets(self) -> list[Offset]:
        return list(self._offsets)

    @property
    def latest(self) -> Offset | None:
        return self._offsets[-1] if self._offsets else None

    def path(self, offset: Offset) -> str:
        return f"{self._directory}/{file_name(offset, SNAPSHOT)}"

    def load(self, start: Offset, end: Offset) -> Producers:
        """The state of the newest good snapshot between the bounds; an empty one up to `start` otherwise."""
        self.keep_between(start, end)
        while self._offsets:
            offset = self._offsets[-1]
            path = self.path(offset)
            try:
                return producer_snapshot.decode(read_file(self._disk, path) or b"", offset, path)
            except StorageError:
                self._remove(offset)
        return Producers(start)

    def at_or_below(self, offset: Offset, start: Offset) -> Producers:
        """The state of a good snapshot that is no newer than `offset`; an empty one up to `start` else."""
        for at in reversed(self._offsets[: bisect_right(self._offsets, offset)]):
            path = self.path(at)
            try:
                return producer_snapshot.decode(read_file(self._disk, path) or b"", at, path)
            except StorageError:
                continue
        return Producers(start)

    def take(self, producers: Producers) -> str | None:
        """Write what is known up to `producers.end` and name the file, unless it is written already."""
        offset = producers.end
        if self._offsets and self._offsets[-1] == offset:
            return None
        path = self.path(offset)
        producer_snapshot.write(self._disk, path, producers)
        insort(self._offsets, offset)
        return path

    def drop_between_segments(self, bases: list[Offset]) -> None:
        """Only the newest and those at the start of a segment are ever needed again."""
        for offset in self._offsets[:-1]:
            place = bisect_right(bases, offset) - 1
            if place < 0 or bases[place] != offset:
                self._remove(offset)

    def keep_between(self, start: Offset, end: Offset) -> None:
        for offset in list(self._offsets):
            if not start <= offset <= end:
                self._remove(offset)

    def clear(self) -> None:
        for offset in list(self._offsets):
            self._remove(offset)

    def _remove(self, offset: Offset) -> None:
        self._disk.remove(self.path(offset))
        self._offsets.remove(offset)
