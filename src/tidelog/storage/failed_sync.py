"""A sync of a log failed: a file in its directory says so to the next start.

The kernel takes for written what it never wrote, and goes on doing so for every process until the machine
starts anew. A log that is opened with this mark writes once more what was not known to be synced. The mark
itself is not synced: where the page cache is gone, nothing is mistaken any more.
"""

from contextlib import suppress

from tidelog.base.ports import Disk
from tidelog.storage.file_names import FAILED_SYNC


def mark(disk: Disk, directory: str) -> None:
    with suppress(OSError):  # on a disk that takes no file more, only a repair helps
        disk.open(f"{directory}/{FAILED_SYNC}", create=True).close()


def is_marked(disk: Disk, directory: str) -> bool:
    return disk.exists(f"{directory}/{FAILED_SYNC}")


def clear(disk: Disk, directory: str) -> None:
    with suppress(OSError):  # then the next start writes more than it must
        disk.remove(f"{directory}/{FAILED_SYNC}")
