"""Reads the snapshots of a metadata log of the version before the quorum: `<offset>.checkpoint`.

The file holds record batches with offsets from 0 on: first SnapshotBegan, last SnapshotEnded, so that a
file which was cut short between two batches is recognised too.
"""

import logging

from tidelog.base.errors import StorageError
from tidelog.base.ids import Offset
from tidelog.base.invariant import InvariantError
from tidelog.base.ports import Disk, File
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.image.records import NewerFormatError, SnapshotBegan, SnapshotEnded, SnapshotRecord
from tidelog.metadata.store.record_batches import decode_batch
from tidelog.storage.file_names import file_name, parse
from tidelog.storage.segment.scan import Bad, SegmentScan

CHECKPOINT = ".checkpoint"

log = logging.getLogger("tidelog.metadata")


def load_newest(disk: Disk, directory: str) -> tuple[Offset, ClusterImage]:
    """The newest that can be read; offset 0 and an empty image where there is none."""
    offsets = [
        parsed[0] for name in disk.names(directory) if (parsed := parse(name)) and parsed[1] == CHECKPOINT
    ]
    for offset in sorted(offsets, reverse=True):
        file = disk.open(f"{directory}/{file_name(offset, CHECKPOINT)}")
        try:
            return offset, read_snapshot(file, offset)
        except NewerFormatError:
            raise
        except StorageError as error:
            log.warning("a snapshot of the metadata is damaged, so an older one is used: %s", error)
        finally:
            file.close()
    return 0, ClusterImage()


def read_snapshot(file: File, offset: Offset) -> ClusterImage:
    """Raises StorageError with file and position unless every byte of it is as it was written."""
    records: list[SnapshotRecord] = []
    position = 0
    for found in SegmentScan(file, 0, file.size()).run(0, 0):
        position = found.position
        if isinstance(found, Bad):
            raise StorageError(f"{file.path} at {position}: {found.why}")
        try:
            records += decode_batch(file.read_at(position, found.header.size))
        except StorageError as error:
            raise type(error)(f"{file.path} at {position}: {error}") from error
    if (
        len(records) < 2
        or not isinstance(records[-1], SnapshotEnded)
        or records[-1].records != len(records) - 2
    ):
        raise StorageError(f"{file.path} at {position}: the snapshot was cut short")
    began, *body = records[:-1]
    if not isinstance(began, SnapshotBegan) or began.offset != offset:
        raise StorageError(
            f"{file.path} at 0: the file does not begin as the snapshot at offset {offset} does"
        )
    try:
        return advance(ClusterImage(), body).after  # type: ignore[arg-type]  # others are refused there
    except (InvariantError, ValueError) as error:
        raise StorageError(f"{file.path}: its records do not fit together: {error}") from error
