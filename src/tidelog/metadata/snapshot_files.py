"""The snapshot files of a metadata log: `<offset>.checkpoint`, the two newest of them.

Two, so that a damaged one can be passed over: the log is kept from the older one on.
"""

import logging

from tidelog.base.errors import StorageError
from tidelog.base.ids import Offset, TimestampMs
from tidelog.base.ports import Disk, replace_file
from tidelog.metadata.image import ClusterImage
from tidelog.metadata.records import NewerFormatError
from tidelog.metadata.snapshot import encode_snapshot, read_snapshot
from tidelog.storage.file_names import file_name, parse

CHECKPOINT = ".checkpoint"
KEPT = 2

log = logging.getLogger("tidelog.metadata")


class SnapshotWrite:
    """A snapshot on its way to the disk; `run` may run in any thread, since an image never changes."""

    def __init__(
        self, disk: Disk, path: str, image: ClusterImage, offset: Offset, now_ms: TimestampMs
    ) -> None:
        self._disk = disk
        self._path = path
        self._image = image
        self._now_ms = now_ms
        self.offset = offset
        self.error: OSError | None = None

    def run(self) -> None:
        """Never raises: a snapshot saves time at the next start, and nothing is lost without it."""
        try:
            replace_file(self._disk, self._path, encode_snapshot(self._image, self.offset, self._now_ms))
        except OSError as error:
            self.error = error


class SnapshotFiles:
    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self._directory = directory
        self.offsets: list[Offset] = sorted(
            parsed[0] for name in disk.names(directory) if (parsed := parse(name)) and parsed[1] == CHECKPOINT
        )

    def load_newest(self) -> tuple[Offset, ClusterImage]:
        """The newest that can be read; offset 0 and an empty image where there is none."""
        for offset in reversed(self.offsets):
            file = self._disk.open(self._path(offset))
            try:
                return offset, read_snapshot(file, offset)
            except NewerFormatError:
                raise
            except StorageError as error:
                log.warning("a snapshot of the metadata is damaged, so an older one is used: %s", error)
            finally:
                file.close()
        return 0, ClusterImage()

    def begin(self, image: ClusterImage, offset: Offset, now_ms: TimestampMs) -> SnapshotWrite:
        return SnapshotWrite(self._disk, self._path(offset), image, offset, now_ms)

    def finish(self, write: SnapshotWrite) -> Offset | None:
        """Drop the oldest; the offset from which on the log must be kept, None to keep all of it."""
        if write.error is not None:
            log.warning("no snapshot of the metadata could be written: %s", write.error)
            return None
        if write.offset not in self.offsets:
            self.offsets.append(write.offset)
        try:
            while len(self.offsets) > KEPT:
                self._disk.remove(self._path(self.offsets[0]))
                del self.offsets[0]
        except OSError as error:
            log.warning("an old snapshot of the metadata could not be removed: %s", error)
        return self.offsets[0] if len(self.offsets) >= KEPT else None

    def _path(self, offset: Offset) -> str:
        return f"{self._directory}/{file_name(offset, CHECKPOINT)}"
