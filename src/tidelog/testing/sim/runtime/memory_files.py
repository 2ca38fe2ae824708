"""Files and directories of the memory disk: what is visible now, and what would survive a crash."""

import random
from collections.abc import Callable
from typing import Literal

PAGE_BYTES = 512
"""Smaller than a real page, so that short tests tear often; disks write sectors of this size at once."""


class FileNode:
    """`data` is what readers see; `durable` is what stable storage holds for certain."""

    __slots__ = ("_has_lost", "_writes", "data", "durable")

    def __init__(self) -> None:
        self._has_lost = False
        """Readers see what a failed sync has dropped, until the next crash."""
        self.data = bytearray()
        self.durable = b""
        self._writes: list[tuple[int, bytes | None]] = []  # (position, bytes), or (length, None) to truncate

    def write(self, position: int, data: bytes) -> None:
        if not data:
            return
        _write(self.data, position, data)
        self._writes.append((position, data))

    def truncate(self, length: int) -> None:
        _truncate(self.data, length)
        self._writes.append((length, None))

    def sync(self) -> None:
        if self._writes:
            self.durable = self._after_writes(len(self._writes)) if self._has_lost else bytes(self.data)
            self._writes.clear()

    def lose_writes(self) -> None:
        """A sync failed, and its pages count as clean, as with Linux: no later sync writes them. Truncations
        are the file system's own business, and go on waiting for it."""
        if self._writes:
            self._has_lost = True
            self._writes = [(length, None) for length, data in self._writes if data is None]

    def sync_some(self, below: Callable[[int], int]) -> None:
        """A sync that never finished: it got somewhere."""
        self.durable = self._after_writes(below(len(self._writes)))

    def crash(self, rng: random.Random) -> None:
        if self._has_lost:
            self.data, self._has_lost = bytearray(self._after_writes(len(self._writes))), False
        if self._writes:
            survives: Literal["nothing", "all", "first writes", "pages"]
            survives = rng.choice(("nothing", "all", "first writes", "pages"))
            if survives == "nothing":
                self.data = bytearray(self.durable)
            elif survives == "first writes":
                self.data = bytearray(self._after_writes(rng.randint(0, len(self._writes))))
            elif survives == "pages":
                self.data = self._mixed_pages(rng)
        self.durable = bytes(self.data)
        self._writes.clear()

    def _after_writes(self, count: int) -> bytes:
        data = bytearray(self.durable)
        for position, written in self._writes[:count]:
            if written is None:
                _truncate(data, position)
            else:
                _write(data, position, written)
        return bytes(data)

    def _mixed_pages(self, rng: random.Random) -> bytearray:
        """Each page is old or new; the size is that of the old or the new file. Missing bytes are zero."""
        size = rng.choice((len(self.durable), len(self.data)))
        mixed = bytearray()
        for start in range(0, size, PAGE_BYTES):
            source = rng.choice((self.durable, self.data))
            page = source[start : min(start + PAGE_BYTES, size)]
            mixed += page + bytes(min(PAGE_BYTES, size - start) - len(page))
        return mixed


class DirectoryNode:
    """Changes reach the disk in order, as in a journal; how far they got is certain only after a sync."""

    __slots__ = ("_durable", "_pending", "entries")

    def __init__(self) -> None:
        self.entries: dict[str, FileNode | DirectoryNode] = {}
        self._durable: dict[str, FileNode | DirectoryNode] = {}
        self._pending: list[dict[str, FileNode | DirectoryNode]] = []

    def put(self, name: str, node: "FileNode | DirectoryNode") -> None:
        self.entries[name] = node
        self._pending.append(dict(self.entries))

    def drop(self, name: str) -> None:
        del self.entries[name]
        self._pending.append(dict(self.entries))

    def rename(self, name: str, target: str) -> None:
        self.entries[target] = self.entries.pop(name)
        self._pending.append(dict(self.entries))

    def sync(self) -> None:
        self._durable = dict(self.entries)
        self._pending.clear()

    def crash(self, rng: random.Random) -> None:
        states = [self._durable, *self._pending]
        self.entries = dict(states[rng.randint(0, len(states) - 1)])
        self.sync()
        for node in self.entries.values():
            node.crash(rng)

    def total_bytes(self) -> int:
        return sum(
            node.total_bytes() if isinstance(node, DirectoryNode) else len(node.data)
            for node in self.entries.values()
        )


def _write(data: bytearray, position: int, written: bytes) -> None:
    if position > len(data):
        data.extend(bytes(position - len(data)))
    data[position : position + len(written)] = written


def _truncate(data: bytearray, length: int) -> None:
    if length <= len(data):
        del data[length:]
    else:
        data.extend(bytes(length - len(data)))
