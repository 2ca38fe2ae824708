"""Writes what the journal has of a log into the log's files, to the positions that it had there.

That can be done again after another crash.
"""

from collections.abc import Iterable, Sequence

from tidelog.base.ids import Uuid
from tidelog.base.ports import Disk, File
from tidelog.storage import failed_sync
from tidelog.storage.file_names import LOG, file_name
from tidelog.storage.journal.block import JournalEntry


def put_back(
    disk: Disk, directory: str, topic_id: Uuid | None, entries: Iterable[JournalEntry]
) -> tuple[int, list[str]]:
    """Returns (bytes that the files lacked, files to sync). `topic_id` of the directory, if it is known."""
    by_base: dict[int, list[JournalEntry]] = {}
    for entry in entries:
        by_base.setdefault(entry.base, []).append(entry)
    written = 0
    paths: list[str] = []
    for base, of_file in by_base.items():
        path = f"{directory}/{file_name(base, LOG)}"
        try:
            file = disk.open(path)
        except FileNotFoundError:
            continue  # the log was deleted or moved, or retention took the segment
        paths.append(path)
        try:
            for entry in of_file:
                if topic_id is None or entry.topic_id == topic_id:
                    written += _put_entry_back(file, entry.position, bytes(entry.data))
        finally:
            file.close()
    return written, paths


def sync(disk: Disk, paths: Sequence[str]) -> None:
    """Also what was there: the kernel may not have written it yet."""
    for path in paths:
        file = disk.open(path)
        try:
            file.sync()
        except OSError:
            failed_sync.mark(disk, path.rpartition("/")[0])
            raise
        finally:
            file.close()


def _put_entry_back(file: File, position: int, data: bytes) -> int:
    if file.read_at(position, len(data)) == data:
        # After a failed sync the kernel takes for written what it never wrote.
        file.write_again(position, len(data))
        return 0
    file.write_at(position, [data])
    if file.read_at(position, len(data)) != data:
        # An encrypted file has lost the frame of these bytes: what lies behind is written once more, too.
        behind = file.read_at(position + len(data), max(0, file.size() - position - len(data)))
        file.truncate(position)
        file.write_at(position, [data + behind])
    return len(data)
