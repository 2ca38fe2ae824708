"""The files of a journal: a few in the log dir, made when they are first needed, and gone after a clean stop.

`meta.properties` has the id of the journal while there is one: files without that are worth nothing.
"""

from collections.abc import Mapping

from tidelog.base.ports import Disk
from tidelog.storage.log_dir import checkpoints

JOURNAL = "tidelog-journal."
"""The front of the names of its files; a number follows."""
DAMAGED_JOURNAL = "tidelog-damaged-journal."
JOURNAL_VOIDS = "journal-void-checkpoint"
"""For each log, the sequence of the block below which no entry of it counts."""


def journal_file(log_dir: str, number: int) -> str:
    return f"{log_dir}/{JOURNAL}{number}"


def names(disk: Disk, log_dir: str) -> list[str]:
    """Of its files alone: a topic may be called as they are, and its directories have names with more."""
    return [
        f"{log_dir}/{name}"
        for name in disk.names(log_dir)
        if name.startswith(JOURNAL) and name.removeprefix(JOURNAL).isdecimal()
    ]


def write_voids(disk: Disk, log_dir: str, voids: Mapping[str, int]) -> None:
    split = {name: name.rpartition("-") for name in voids}
    offsets = {(split[name][0], int(split[name][2])): sequence for name, sequence in voids.items()}
    checkpoints.write(disk, f"{log_dir}/{JOURNAL_VOIDS}", offsets)


def read_voids(disk: Disk, log_dir: str) -> dict[str, int]:
    """StorageError where the file is damaged."""
    found = checkpoints.read(disk, f"{log_dir}/{JOURNAL_VOIDS}")
    return {f"{topic}-{index}": sequence for (topic, index), sequence in found.items()}


def set_aside(disk: Disk, log_dir: str) -> None:
    """Keep the files of a damaged journal under names that no start reads again."""
    for path in names(disk, log_dir):
        disk.rename(path, f"{log_dir}/{DAMAGED_JOURNAL}{path.rpartition('.')[2]}")
    disk.sync_dir(log_dir)


def remove(disk: Disk, log_dir: str) -> None:
    """Once the log dir no longer names a journal."""
    for path in [*names(disk, log_dir), f"{log_dir}/{JOURNAL_VOIDS}"]:
        disk.remove(path)
