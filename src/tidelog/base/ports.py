"""Ports: what the core asks of the world, so that a simulator can stand in for it.

Production wires real ports in `node/node.py`; tests wire faulty twins from `tidelog.testing`.
Every method that touches a disk may raise OSError (ENOSPC, EIO); callers decide what that means.
"""

from collections.abc import Awaitable, Sequence
from typing import Protocol

from tidelog.base.ids import TimestampMs

Buffer = bytes | bytearray | memoryview


class Clock(Protocol):
    def now_ms(self) -> TimestampMs:
        """Wall clock, milliseconds since 1970; may jump."""
        ...

    def monotonic(self) -> float:
        """Seconds from an unknown start; never goes back. For timeouts."""
        ...


class Random(Protocol):
    def bytes(self, count: int) -> bytes: ...

    def below(self, limit: int) -> int:
        """A number from 0 to limit - 1."""
        ...


class File(Protocol):
    """An open file with positioned I/O. No hidden cursor, so threads may share it.

    Dropping the last reference closes it: a slice that is still being sent keeps a deleted segment readable.
    """

    @property
    def path(self) -> str: ...

    def write_at(self, position: int, buffers: Sequence[Buffer]) -> int:
        """Write all the bytes of all buffers, or raise OSError. Returns the number of bytes."""
        ...

    def read_at(self, position: int, length: int) -> bytes:
        """Up to `length` bytes; fewer only at the end of the file."""
        ...

    def read_intact(self, position: int, length: int) -> bytes:
        """As `read_at`, for bytes that leave the broker: OSError where they are known to be damaged."""
        ...

    def place(self, position: int) -> tuple[int, int]:
        """Returns (descriptor, position in it) of a byte, to ask for its page; -1 without a descriptor."""
        ...

    def size(self) -> int: ...

    def write_again(self, position: int, length: int) -> None:
        """Write what is there once more, byte for byte as it lies on the disk: after a failed sync the kernel
        takes for written what it never wrote. A crash in the middle harms nothing that was durable."""
        ...

    def truncate(self, length: int) -> None: ...

    def allocate(self, length: int) -> None:
        """Reserve space so that the file is at least `length` bytes long; new bytes read as zero."""
        ...

    def sync(self) -> None:
        """Data and size are on stable storage when this returns."""
        ...

    def fileno(self) -> int:
        """For sendfile; -1 where there is no descriptor."""
        ...

    def close(self) -> None: ...


class Lock(Protocol):
    """Held until released; dropping the last reference releases it too."""

    def release(self) -> None: ...


class Disk(Protocol):
    """A file system. Paths are absolute strings joined with '/'."""

    def open(self, path: str, *, create: bool = False) -> File:
        """Open for reading and writing; FileNotFoundError unless it exists or `create` is set."""
        ...

    def names(self, directory: str) -> list[str]:
        """Sorted names of files and directories directly in `directory`."""
        ...

    def is_dir(self, path: str) -> bool:
        """Raises OSError where that cannot be known: a directory must not pass for one that is not there."""
        ...

    def exists(self, path: str) -> bool: ...

    def size(self, path: str) -> int:
        """The length of a file in bytes, without opening it; FileNotFoundError where there is none."""
        ...

    def make_dirs(self, path: str) -> None: ...

    def rename(self, source: str, target: str) -> None:
        """Atomic; replaces an existing file. Durable only after `sync_dir`."""
        ...

    def remove(self, path: str) -> None: ...

    def remove_tree(self, path: str) -> None: ...

    def sync_dir(self, directory: str) -> None: ...

    def free_bytes(self, directory: str) -> tuple[int, int]:
        """(total, usable) bytes of the file system that holds `directory`."""
        ...

    def check_writable(self, directory: str) -> None:
        """OSError where the directory does not exist, or its file system is mounted read-only."""
        ...

    def lock(self, path: str) -> Lock:
        """Take the lock file at `path` for this process alone, or raise StorageError naming its directory."""
        ...


class Connection(Protocol):
    """A connection to another broker: opened on first use, and reopened after it broke."""

    def call(self, frame: Sequence[Buffer]) -> Awaitable[memoryview]:
        """Send one request, with its size in front, and wait for its answer, without the size.

        OSError where the other side cannot be reached or went away: what it did is unknown then.
        """
        ...

    def send(self, frame: Sequence[Buffer]) -> None:
        """Send a request without a response; it may be lost silently."""
        ...

    def close(self) -> None: ...


class Network(Protocol):
    def connect(self, host: str, port: int) -> Connection: ...


def make_directory(disk: Disk, path: str) -> None:
    """A directory, with those above it that are missing: durable when this returns."""
    if path in ("", "/") or disk.is_dir(path):
        return
    parent = path.rpartition("/")[0] or "/"
    make_directory(disk, parent)
    disk.make_dirs(path)
    disk.sync_dir(parent)


def replace_file(disk: Disk, path: str, data: bytes) -> None:
    """Write a small file so that a crash leaves the old one or the new one, never a mix."""
    temporary = path + ".tmp"
    file = disk.open(temporary, create=True)
    try:
        file.truncate(0)
        file.write_at(0, [data])
        file.sync()
    finally:
        file.close()
    disk.rename(temporary, path)
    disk.sync_dir(path.rpartition("/")[0] or "/")


def read_file(disk: Disk, path: str) -> bytes | None:
    """The whole of a small file, or None where there is none.

    Raises OSError where that cannot be known, which `exists` would take for none.
    """
    try:
        file = disk.open(path)
    except FileNotFoundError:
        return None
    try:
        return file.read_at(0, file.size())
    finally:
        file.close()


class FileSlice:
    """A range of a file on its way to a socket: the bytes are never copied into Python."""

    __slots__ = ("file", "length", "position")

    def __init__(self, file: File, position: int, length: int) -> None:
        self.file = file
        self.position = position
        self.length = length

    def __len__(self) -> int:
        return self.length

    def read(self) -> bytes:
        return self.file.read_intact(self.position, self.length)
