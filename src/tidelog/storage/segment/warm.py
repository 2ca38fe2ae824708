"""Bounds what sealed segments hold open, over all partitions of a process: descriptors and index memory.

The oldest gives way; it opens again when it is read. A slice on its way to a socket keeps its file alive.
For one thread only: a log that is opened elsewhere counts for itself until it is `share`d.
"""

from typing import Protocol

FILES_MAX = 256
INDEX_BYTES_MAX = 32 << 20


class Coolable(Protocol):
    def cool(self) -> None:
        """Let go of the file and the index."""
        ...


class WarmSegments:
    __slots__ = ("_index_bytes", "_index_bytes_max", "_warm", "files_max")

    def __init__(self, files_max: int = FILES_MAX, index_bytes_max: int = INDEX_BYTES_MAX) -> None:
        self.files_max = files_max
        self._index_bytes_max = index_bytes_max
        self._index_bytes = 0
        self._warm: dict[Coolable, int] = {}

    def __len__(self) -> int:
        return len(self._warm)

    def opened(self, segment: Coolable, index_bytes: int = 0) -> None:
        # To the end: what is needed right now must not be the oldest.
        self._warm[segment] = self._warm.pop(segment, 0) + index_bytes
        self._index_bytes += index_bytes
        while len(self._warm) > 1 and (
            len(self._warm) > self.files_max or self._index_bytes > self._index_bytes_max
        ):
            oldest = next(iter(self._warm))
            self.forget(oldest)
            oldest.cool()

    def cool_all(self) -> None:
        """Memory is short: every sealed segment lets go of its index and file."""
        for segment in tuple(self._warm):
            self.forget(segment)
            segment.cool()

    def take_over(self, other: "WarmSegments") -> None:
        """What another one counted, which is of no use after that."""
        for segment, index_bytes in other._warm.items():
            self.opened(segment, index_bytes)

    def forget(self, segment: Coolable) -> None:
        self._index_bytes -= self._warm.pop(segment, 0)
