"""After a crash: the files of the logs get back what only the journal has of them.

This comes before the logs are opened, so that their recovery finds files as if each had been synced on its
own. It writes bytes to the positions that they had, so it can be done again after another crash.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from tidelog.base.errors import StorageError
from tidelog.base.ids import Uuid
from tidelog.base.ports import Disk, File, read_file
from tidelog.storage import failed_sync
from tidelog.storage.file_names import LOG, file_name
from tidelog.storage.journal import files
from tidelog.storage.journal.block import Block, JournalEntry, find_blocks


@dataclass(slots=True)
class JournalContent:
    """What a journal holds that a start would put into the files of the logs."""

    blocks: list[Block] = field(default_factory=list)
    """Those that are needed, in order."""
    voids: dict[str, int] = field(default_factory=dict)
    damage: list[str] = field(default_factory=list)
    """What no crash explains."""

    def entries(self) -> list[JournalEntry]:
        """In the order of their writes, without those that were voided since."""
        return [
            entry
            for block in self.blocks
            for entry in block.entries()
            if block.sequence >= self.voids.get(entry.directory, 0)
        ]


def read_journal(disk: Disk, log_dir: str, journal_id: bytes) -> JournalContent:
    content = JournalContent()
    paths = files.names(disk, log_dir)
    if not paths:
        content.damage.append(f"the files {log_dir}/{files.JOURNAL}* are gone")
        return content
    found: dict[int, Block] = {}
    for path in paths:
        for block in find_blocks(read_file(disk, path) or b"", journal_id):
            found[block.sequence] = block
    if not found:
        return content  # a crash came before the first block
    newest = max(found)
    for sequence in range(found[newest].oldest, newest + 1):
        if sequence in found:
            content.blocks.append(found[sequence])
    missing = newest + 1 - found[newest].oldest - len(content.blocks)
    if missing:
        content.damage.append(f"{missing} blocks below the block {newest} are not as they were written")
    try:
        content.voids = files.read_voids(disk, log_dir)
    except StorageError as error:
        content.damage.append(f"{error}; without it no entry of the journal can be used")
        content.blocks = []
    return content


@dataclass(slots=True)
class JournalReplay:
    logs: int = 0
    """Whose files lacked something."""
    bytes: int = 0
    damage: list[str] = field(default_factory=list)


def replay(
    disk: Disk, log_dir: str, journal_id: bytes, topic_id_of: Callable[[str], Uuid | None]
) -> JournalReplay:
    """Write what the files lack, and sync them. `topic_id_of` a partition directory; None if unreadable."""
    content = read_journal(disk, log_dir, journal_id)
    done = JournalReplay(damage=content.damage)
    by_file: dict[tuple[str, int], list[JournalEntry]] = {}
    for entry in content.entries():
        by_file.setdefault((entry.directory, entry.base), []).append(entry)
    paths: list[str] = []
    for (name, base), entries in by_file.items():
        directory = f"{log_dir}/{name}"
        path = f"{directory}/{file_name(base, LOG)}"
        if not disk.exists(path):
            continue  # the log was deleted or moved, or retention took the segment
        topic_id = topic_id_of(directory)
        wanted = [entry for entry in entries if topic_id is None or entry.topic_id == topic_id]
        written = _put_back(disk, path, wanted)
        done.logs += written > 0
        done.bytes += written
        paths.append(path)
    for path in paths:  # once all are written: a file system then commits many of them together
        _sync(disk, path)
    return done


def _put_back(disk: Disk, path: str, entries: list[JournalEntry]) -> int:
    written = 0
    file = disk.open(path)
    try:
        for entry in entries:
            written += _put_entry_back(file, entry.position, bytes(entry.data))
    finally:
        file.close()
    return written


def _sync(disk: Disk, path: str) -> None:
    """Also what was there: the kernel may not have written it yet."""
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
