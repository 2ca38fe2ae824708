"""After a crash: the files of the logs get back what only the journal has of them.

This comes before the logs are opened, so that their recovery finds files as if each had been synced on its
own. A log whose files fail is left to `unfinished_replay`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from tidelog.base.errors import StorageError
from tidelog.base.ids import Uuid
from tidelog.base.ports import Disk, read_file
from tidelog.storage.journal import files
from tidelog.storage.journal.block import Block, JournalEntry, find_blocks
from tidelog.storage.journal.put_back import put_back, sync
from tidelog.storage.journal.unfinished_replay import UnfinishedReplay


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
    failed: dict[str, OSError | StorageError] = field(default_factory=dict)
    """By the names of their directories, why logs do not have yet what the journal has of them."""
    unfinished: UnfinishedReplay | None = None
    """Holds the entries of these."""


def replay(
    disk: Disk, log_dir: str, journal_id: bytes, topic_id_of: Callable[[str], Uuid | None]
) -> JournalReplay:
    """Write what the files lack, and sync them. `topic_id_of` a partition directory; None if unreadable.

    A log whose files fail stays behind, and the journal must stay for it. Raises OSError where the journal
    cannot be read, or cannot be told which logs need it no more.
    """
    content = read_journal(disk, log_dir, journal_id)
    done = JournalReplay(damage=content.damage)
    by_directory: dict[str, list[JournalEntry]] = {}
    for entry in content.entries():
        by_directory.setdefault(entry.directory, []).append(entry)
    paths: dict[str, list[str]] = {}
    for name, entries in by_directory.items():
        directory = f"{log_dir}/{name}"
        try:
            written, paths[name] = put_back(disk, directory, topic_id_of(directory), entries)
        except (OSError, StorageError) as error:
            done.failed[name] = error
        else:
            done.logs += written > 0
            done.bytes += written
    for (
        name,
        of_log,
    ) in paths.items():  # once all are written: a file system then commits many of them together
        try:
            sync(disk, of_log)
        except (OSError, StorageError) as error:
            done.failed[name] = error
    if done.failed:
        next_sequence = content.blocks[-1].sequence + 1
        voids = content.voids | dict.fromkeys(by_directory.keys() - done.failed.keys(), next_sequence)
        kept = {name: by_directory[name] for name in done.failed}
        done.unfinished = UnfinishedReplay(disk, log_dir, kept, voids, next_sequence)
        done.unfinished.write_voids()
    return done
