"""A file that is encrypted on the disk and plain to its caller, with the same promises as a plain one.

Positions and sizes are those of the plain bytes. What an unfinished write left reads as zeros, as in a plain
file; bytes that were damaged later read as 0xFF, which no batch, index or checkpoint takes for its own, so
that recovery sees them where they are and goes on behind them. `read_intact`, for bytes that leave the
broker, refuses both.
"""

import errno
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tidelog.base.ports import Buffer, File
from tidelog.storage.encryption.cell_map import CellMap
from tidelog.storage.encryption.layout import (
    BLOCK_BYTES,
    CELL_HEADER_BYTES,
    CELL_OVERHEAD_BYTES,
    NONCE_AT,
    NONCE_BYTES,
    SMALL_ROOM_BYTES,
    Cell,
    FileKeyId,
    block_header,
    bound,
    cell_at,
    cell_header,
    front_bytes,
    is_torn,
)

log = logging.getLogger("tidelog.storage.encryption")

_HOLE_BYTES = 1 << 20
_JOINED_PARTS = 4
"""Up to so many, a copy costs less than a write of several buffers."""
_TORN, _DAMAGED = b"\0", b"\xff"


class DamagedBytes(OSError):
    """Bytes on the disk are not what was written: the tag of their cell does not fit."""


class FileKeys:
    """Where an encrypted file gets its keys from."""

    __slots__ = ("cipher", "fresh")

    def __init__(self, cipher: Callable[[FileKeyId, str], AESGCM], fresh: Callable[[], FileKeyId]) -> None:
        self.cipher = cipher
        """The cipher for a file that exists; raises OSError where its data key is missing."""
        self.fresh = fresh
        """The name of the key for a file that begins."""


class EncryptedFile:
    __slots__ = ("_cells", "_cipher", "_counter", "_key", "_keys", "_nonce_front", "_raw", "_trailing")

    def __init__(self, raw: File, keys: FileKeys, key: FileKeyId | None) -> None:
        """`key` names the key of an existing file, see `find_key`; None for an empty one."""
        self._raw = raw
        self._keys = keys
        self._key = key
        self._cipher: AESGCM | None = None
        self._nonce_front = b""
        self._counter = 0
        self._cells = CellMap(raw)
        self._trailing = False
        """Bytes behind the last cell, which a torn or failed write left: they go before the next write."""
        if key is not None:
            self._cipher = keys.cipher(key, raw.path)
            self._load()

    def _load(self) -> None:
        self._cells.load()
        self._trailing = self._raw.size() > self._cells.raw_end
        if not self._cells.raw_end:
            self._key = self._cipher = None  # a new file, and a new key

    # The port

    @property
    def path(self) -> str:
        return self._raw.path

    def size(self) -> int:
        return self._cells.end

    def sync(self) -> None:
        self._raw.sync()

    def fileno(self) -> int:
        return -1  # its bytes must not be sent as they are

    def place(self, position: int) -> tuple[int, int]:
        fd, cells = self._raw.fileno(), self._cells
        if fd < 0 or not cells.end:
            return -1, 0
        block = cells.block_of(min(position, cells.end - 1))
        tail_block, tail = cells.tail
        number = cell_at(tail, position) if block == tail_block else -1
        return fd, tail[number].end - 1 if number >= 0 else (block + 1) * BLOCK_BYTES - 1

    def allocate(self, length: int) -> None:
        """Reserves nothing: zeros on the disk would be no zeros of the plain file."""

    def close(self) -> None:
        self._raw.close()

    def write_at(self, position: int, buffers: Sequence[Buffer]) -> int:
        data = memoryview(buffers[0] if len(buffers) == 1 else b"".join(buffers))
        end = self._cells.end
        if position > end:
            self._append_zeros(position)
        elif position < end:
            inside = min(len(data), end - position)
            self._overwrite(position, data[:inside])
            if inside < len(data):
                self._append(data[inside:])
            return len(data)
        self._append(data)
        return len(data)

    def read_at(self, position: int, length: int) -> bytes:
        return b"".join(self._read(position, length, intact=False))

    def read_intact(self, position: int, length: int) -> bytes:
        return b"".join(self._read(position, length, intact=True))

    def write_again(self, position: int, length: int) -> None:
        """The cells as they are: with a new nonce, a torn one would lose what it held before."""
        found = self._cells
        stop = min(position + length, found.end)
        if position >= stop:
            return
        for block in range(found.block_of(position), found.block_of(stop - 1) + 1):
            cells = found.cells(block)
            first = max(0, cell_at(cells, position))
            begin = cells[first].position if first else block * BLOCK_BYTES  # with the header of the block
            self._raw.write_again(begin, cells[cell_at(cells, stop - 1)].end - begin)

    def truncate(self, length: int) -> None:
        found = self._cells
        if length >= found.end:
            self._append_zeros(length)
            return
        if not length:
            self._raw.truncate(0)
            self._load()
            return
        block = found.block_of(length - 1)
        cells = found.cells(block)
        kept = cells[: cell_at(cells, length - 1) + 1]
        if not kept:  # damage took all that was in front of it in the block
            self._raw.truncate(block * BLOCK_BYTES)
            self._load()
            self.truncate(length)
            return
        last = kept[-1]
        # The cell may be on stable storage: it stays, and one behind it says that less of it counts.
        self._raw.truncate(last.end)
        self._trailing = False
        found.ends_with(block, [*kept[:-1], last._replace(stop=last.start + last.length)])
        if length < found.end:
            self._append_shortening(length)
        else:
            self._append_zeros(length)

    # Reading

    def _read(self, position: int, length: int, *, intact: bool) -> Iterator[bytes]:
        found = self._cells
        stop = min(position + length, found.end)
        if position >= stop:
            return
        decrypt = self._unlocked().decrypt
        for raw, block, cells in found.blocks_from(found.block_of(position), stop - position):
            first = block * BLOCK_BYTES
            number = max(0, cell_at(cells, position))
            while number < len(cells):
                start, cell_stop, at, size = cells[number]
                number += 1
                if start >= stop:
                    break
                if cell_stop <= position:
                    continue
                at -= first
                if start > position:
                    behind = cells[number - 2].end - first if number > 1 else front_bytes(block)
                    yield self._damaged(position, start, intact, is_torn(raw, behind, at))
                    position = start
                end = min(stop, cell_stop)
                content = raw[at + CELL_HEADER_BYTES : at + CELL_OVERHEAD_BYTES + size]
                nonce = raw[at + NONCE_AT : at + NONCE_AT + NONCE_BYTES]
                try:
                    plain = decrypt(nonce, content, bound(size, start, first + at))
                except InvalidTag:
                    torn = is_torn(raw, at, at + CELL_OVERHEAD_BYTES + size)
                    yield self._damaged(position, end, intact, torn)
                else:
                    yield plain if end - position == size else plain[position - start : end - start]
                position = end
            if position >= stop:
                return
        yield self._damaged(position, stop, intact, False)

    def _damaged(self, start: int, stop: int, intact: bool, torn: bool) -> bytes:
        if intact:
            log.error("%s is damaged: bytes %d to %d are not what was written", self.path, start, stop)
            raise DamagedBytes(errno.EIO, f"bytes {start} to {stop} are not what was written", self.path)
        return (_TORN if torn else _DAMAGED) * (stop - start)

    def _unlocked(self) -> AESGCM:
        if self._cipher is None:
            if self._key is None:
                self._key = self._keys.fresh()
            self._cipher = self._keys.cipher(self._key, self.path)
        return self._cipher

    # Writing

    def _append(self, data: memoryview) -> None:
        parts: list[Buffer] = []
        cells: list[Cell] = []
        at, start = self._cells.raw_end, self._cells.end
        while data:
            at = self._next_place(at, len(data), parts)
            take = min(len(data), BLOCK_BYTES - at % BLOCK_BYTES - CELL_OVERHEAD_BYTES)
            parts.append(self._encrypted(at, start, data[:take]))
            cells.append(Cell(start, start + take, at, take))
            at += CELL_OVERHEAD_BYTES + take
            start += take
            data = data[take:]
        self._write(parts, cells)

    def _append_shortening(self, start: int) -> None:
        parts: list[Buffer] = []
        at = self._next_place(self._cells.raw_end, 0, parts)
        parts.append(self._encrypted(at, start, b""))
        self._write(parts, [Cell(start, start, at, 0)])

    def _append_zeros(self, stop: int) -> None:
        while self._cells.end < stop:
            self._append(memoryview(bytes(min(stop - self._cells.end, _HOLE_BYTES))))

    def _next_place(self, at: int, length: int, parts: list[Buffer]) -> int:
        """Where a cell may begin; what belongs in front of it is added to `parts`."""
        left = -at % BLOCK_BYTES
        if left and left - CELL_OVERHEAD_BYTES < min(length, SMALL_ROOM_BYTES):
            parts.append(bytes(left))
            at += left
            left = 0
        if left == 0:
            self._unlocked()
            if self._key is not None:
                parts.append(block_header(self._key) * (1 if at else 2))
            at += front_bytes(at // BLOCK_BYTES)
        return at

    def _encrypted(self, at: int, start: int, data: Buffer) -> bytes:
        """The cell for these bytes at a place in the file."""
        nonce, length = self._next_nonce(), len(data)
        content = self._unlocked().encrypt(nonce, data, bound(length, start, at))
        return cell_header(length, start, nonce) + content

    def _next_nonce(self) -> bytes:
        """A random front for each opening, then a count: no place in the file decides it, so that bytes which
        take the place of others are never encrypted as those were."""
        if not self._nonce_front or self._counter == 1 << 32:
            self._nonce_front, self._counter = os.urandom(8), 0
        nonce = self._nonce_front + self._counter.to_bytes(4, "big")
        self._counter += 1
        return nonce

    def _write(self, parts: list[Buffer], cells: list[Cell]) -> None:
        raw_end = self._cells.raw_end
        if self._trailing:
            self._raw.truncate(raw_end)
            self._trailing = False
        if 1 < len(parts) <= _JOINED_PARTS:
            parts = [b"".join(parts)]
        try:
            self._raw.write_at(raw_end, parts)
        except OSError:
            self._trailing = True
            with suppress(OSError):
                self._raw.truncate(raw_end)
                self._trailing = False
            raise
        self._cells.note(cells)

    def _overwrite(self, position: int, data: memoryview) -> None:
        """Cells keep their place and size; each gets a new nonce."""
        stop = position + len(data)
        for block in range(self._cells.block_of(position), self._cells.tail[0] + 1):
            for cell in self._cells.cells(block):
                start, end = max(position, cell.start), min(stop, cell.stop)
                if start >= end:
                    continue
                plain = bytearray(self.read_at(cell.start, cell.stop - cell.start))
                plain += bytes(cell.length - len(plain))
                plain[start - cell.start : end - cell.start] = data[start - position : end - position]
                self._raw.write_at(cell.position, [self._encrypted(cell.position, cell.start, plain)])
            if self._cells.start_after(block) >= stop:
                return
