"""A disk in memory that can fail as real ones do: the twin of `PosixDisk`.

`crash()` keeps what was synced. Of the rest it keeps, by the seed, nothing, all, the first writes, or single
pages; of changes to a directory since its last `sync_dir` it keeps the first few. Faults are set by name.
"""

import errno
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tidelog.base.errors import StorageError
from tidelog.base.ports import Buffer, Disk, File, Lock
from tidelog.testing.sim.runtime.memory_files import DirectoryNode, FileNode


class PowerCut(BaseException):
    """The operation during which the machine died. Not an Exception: nothing may catch it and go on."""


@dataclass(slots=True)
class DiskFault:
    operation: str
    """'write', 'sync', 'sync_dir', 'truncate', 'rename', 'remove', 'open', 'read', 'make_dirs', 'look', which
    asks for a directory, or '*'."""
    path_part: str = ""
    """Only where the path holds this."""
    number: int = 1
    """The n-th matching call fails, and every one after it."""
    error: int = errno.EIO

    def is_due(self, operation: str, path: str) -> bool:
        if self.operation not in (operation, "*") or self.path_part not in path:
            return False
        self.number -= 1
        return self.number <= 0


class MemoryDisk:
    def __init__(self, seed: int = 0, *, capacity_bytes: int | None = None) -> None:
        self._random = random.Random(seed)
        self._root = DirectoryNode()
        self._locks: set[str] = set()
        self._faults: list[DiskFault] = []
        self.capacity_bytes = capacity_bytes
        """More than this many bytes in files gives ENOSPC, after writing what fits."""
        self.operations = 0
        """How many operations have changed something: the moments at which a crash makes a difference."""
        self.power_cut_at: int | None = None
        """The number of the operation that dies half-way with PowerCut."""
        self._power_cut_in: DiskFault | None = None
        self.bytes_read = 0
        self.is_read_only = False
        """Every change fails, as after the kernel has found errors in the file system."""

    # Faults

    def fail(
        self, operation: str, path_part: str = "", *, number: int = 1, error: int = errno.EIO
    ) -> DiskFault:
        """The n-th matching operation from now on raises OSError, and so do all later ones."""
        fault = DiskFault(operation, path_part, number, error)
        self._faults.append(fault)
        return fault

    def cut_power_in(self, operation: str, path_part: str, *, number: int = 1) -> None:
        """The n-th change of this kind from now on dies half-way."""
        self._power_cut_in = DiskFault(operation, path_part, number)

    @property
    def has_faults(self) -> bool:
        return bool(self._faults)

    def heal(self) -> None:
        self._faults.clear()
        self.capacity_bytes = None
        self.is_read_only = False

    def crash(self) -> None:
        """Power is gone and comes back: what was not synced survives only by chance."""
        self._root.crash(self._random)
        self._locks.clear()
        self.power_cut_at = self._power_cut_in = None

    def release_locks(self) -> None:
        """The process that held them is dead."""
        self._locks.clear()

    def flip_bit(self, path: str, position: int, bit: int = 0) -> None:
        """What a failing disk does unnoticed."""
        self._file(path).data[position] ^= 1 << bit

    def before(self, operation: str, path: str) -> None:
        """Called by every operation: the place where faults happen."""
        for fault in self._faults:
            if fault.is_due(operation, path):
                raise OSError(fault.error, os.strerror(fault.error), path)

    def change(self, operation: str, path: str, half: Callable[[], None] | None = None) -> None:
        """As `before`, for operations that change something; `half` does a part of it when power is cut."""
        self.before(operation, path)
        if self.is_read_only:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        self.operations += 1
        if self._power_cut_in is not None and self._power_cut_in.is_due(operation, path):
            self.power_cut_at, self._power_cut_in = self.operations, None
        if self.power_cut_at is not None and self.operations >= self.power_cut_at:
            if half is not None and self.operations == self.power_cut_at:
                half()
            raise PowerCut(f"operation {self.operations}: {operation} {path}")

    @property
    def may_lose_power(self) -> bool:
        return self.power_cut_at is not None or self._power_cut_in is not None

    def room_for(self, more_bytes: int) -> int:
        """How many of these bytes still fit."""
        if self.capacity_bytes is None:
            return more_bytes
        return max(0, min(more_bytes, self.capacity_bytes - self._root.total_bytes()))

    def some_of(self, count: int) -> int:
        return self._random.randint(0, count)

    # The port

    def open(self, path: str, *, create: bool = False) -> File:
        self.before("open", path)
        dir_node, name = self._parent(path)
        node = dir_node.entries.get(name)
        if node is None:
            if not create:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
            node = FileNode()
            self.change("create", path)
            dir_node.put(name, node)
        if isinstance(node, DirectoryNode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        return MemoryFile(self, path, node)

    def names(self, directory: str) -> list[str]:
        self.before("read", directory)
        return sorted(self._dir_node(directory).entries)

    def is_dir(self, path: str) -> bool:
        self.before("look", path)
        return isinstance(self._find(path), DirectoryNode)

    def exists(self, path: str) -> bool:
        return self._find(path) is not None

    def size(self, path: str) -> int:
        return len(self._file(path).data)

    def make_dirs(self, path: str) -> None:
        dir_node = self._root
        for part in _parts(path):
            node = dir_node.entries.get(part)
            if node is None:
                self.change("make_dirs", path)
                node = DirectoryNode()
                dir_node.put(part, node)
            if not isinstance(node, DirectoryNode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
            dir_node = node

    def rename(self, source: str, target: str) -> None:
        dir_node, name = self._parent(source)
        target_dir_node, target_name = self._parent(target)
        if name not in dir_node.entries:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), source)
        self.change("rename", source)
        if dir_node is not target_dir_node:
            raise OSError(errno.EXDEV, "this disk renames within a directory only", source)
        dir_node.rename(name, target_name)

    def remove(self, path: str) -> None:
        dir_node, name = self._parent(path)
        if name in dir_node.entries:
            self.change("remove", path)
            dir_node.drop(name)

    def remove_tree(self, path: str) -> None:
        dir_node, name = self._parent(path)
        if isinstance(dir_node.entries.get(name), DirectoryNode):
            self.change("remove", path)
            dir_node.drop(name)

    def sync_dir(self, directory: str) -> None:
        dir_node = self._dir_node(directory)
        self.change("sync_dir", directory)
        dir_node.sync()

    def free_bytes(self, directory: str) -> tuple[int, int]:
        self._dir_node(directory)
        total = 1 << 40 if self.capacity_bytes is None else self.capacity_bytes
        return total, total - self._root.total_bytes()

    def check_writable(self, directory: str) -> None:
        self._dir_node(directory)
        if self.is_read_only:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), directory)

    def lock(self, path: str) -> Lock:
        if path in self._locks:
            raise StorageError(f"{path.rpartition('/')[0]} is in use by another broker")
        self.open(path, create=True)
        self._locks.add(path)
        return MemoryLock(self._locks, path)

    # Finding

    def _find(self, path: str) -> FileNode | DirectoryNode | None:
        node: FileNode | DirectoryNode | None = self._root
        for part in _parts(path):
            if not isinstance(node, DirectoryNode):
                return None
            node = node.entries.get(part)
        return node

    def _dir_node(self, path: str) -> DirectoryNode:
        node = self._find(path)
        if not isinstance(node, DirectoryNode):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return node

    def _file(self, path: str) -> FileNode:
        node = self._find(path)
        if not isinstance(node, FileNode):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return node

    def _parent(self, path: str) -> tuple[DirectoryNode, str]:
        *parents, name = _parts(path)
        return self._dir_node("/" + "/".join(parents)), name


class MemoryFile:
    __slots__ = ("_disk", "_node", "_path")

    def __init__(self, disk: MemoryDisk, path: str, node: FileNode) -> None:
        self._disk = disk
        self._path = path
        self._node = node

    @property
    def path(self) -> str:
        return self._path

    def write_at(self, position: int, buffers: Sequence[Buffer]) -> int:
        data = b"".join(buffers)
        part = data[: self._disk.some_of(len(data))] if self._disk.may_lose_power else data
        self._disk.change("write", self._path, lambda: self._node.write(position, part))
        growth = position + len(data) - len(self._node.data)
        room = self._disk.room_for(growth) if growth > 0 else growth
        if growth > 0 and room < growth:
            self._node.write(position, data[: len(data) - (growth - room)])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._path)
        self._node.write(position, data)
        return len(data)

    def read_at(self, position: int, length: int) -> bytes:
        self._disk.before("read", self._path)
        data = bytes(memoryview(self._node.data)[position : position + length])
        self._disk.bytes_read += len(data)
        return data

    read_intact = read_at

    def write_again(self, position: int, length: int) -> None:
        self.write_at(position, [self.read_at(position, length)])

    def place(self, position: int) -> tuple[int, int]:
        return -1, position

    def size(self) -> int:
        return len(self._node.data)

    def truncate(self, length: int) -> None:
        if length != len(self._node.data):
            self._disk.change("truncate", self._path)
            self._node.truncate(length)

    def allocate(self, length: int) -> None:
        growth = length - len(self._node.data)
        if growth > 0:
            self._disk.change("allocate", self._path)
            if self._disk.room_for(growth) < growth:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._path)
            self._node.truncate(length)

    def sync(self) -> None:
        try:
            self._disk.change("sync", self._path, lambda: self._node.sync_some(self._disk.some_of))
        except OSError:
            self._node.lose_writes()
            raise
        self._node.sync()

    def fileno(self) -> int:
        return -1

    def close(self) -> None:
        """Nothing to let go of."""


class MemoryLock:
    __slots__ = ("_held", "_path")

    def __init__(self, held: set[str], path: str) -> None:
        self._held = held
        self._path = path

    def release(self) -> None:
        self._held.discard(self._path)


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _check(disk: MemoryDisk) -> Disk:
    return disk  # mypy proves here that the twin fills the port
