"""Where the plain bytes of an encrypted file are: its blocks by a binary search, and the cells in a block.

What was looked at is remembered for each block in one number, and as cells for two blocks: the last one,
which grows, and the one that was read before.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from tidelog.base.ports import File
from tidelog.storage.encryption.layout import (
    BLOCK_BYTES,
    CELL_HEADER_BYTES,
    Cell,
    damaged_tail,
    front_bytes,
    read_cells,
    read_start,
)

READ_BLOCKS = 4
"""Read from the disk at once, at most: larger pieces of memory cost more than they save."""


class CellMap:
    __slots__ = ("_raw", "_recent", "_starts", "end", "raw_end", "tail")

    def __init__(self, raw: File) -> None:
        self._raw = raw
        self.forget_all()

    def forget_all(self) -> None:
        """The file is empty."""
        self._starts: dict[int, int] = {}
        """Where the first cell of a block starts, for blocks that were looked at."""
        self._recent: tuple[int, list[Cell]] = -1, []
        self.tail: tuple[int, list[Cell]] = 0, []
        """The last block and its cells: together, since a thread may read while the file grows."""
        self.end = 0
        """Of the plain bytes."""
        self.raw_end = 0
        """Behind the last cell."""

    def load(self) -> None:
        """Find the end. A block without a single cell behind the others is what a torn write left."""
        for block in range((self._raw.size() - 1) // BLOCK_BYTES, -1, -1):
            raw = self._block(block)
            cells = read_cells(raw, block)
            damaged = damaged_tail(raw, block, cells)
            if damaged is not None:
                start = cells[-1].stop if cells else self._end_before(block)
                cells.append(damaged._replace(start=start, stop=start + damaged.length))
            if cells:
                self.ends_with(block, cells)
                return
        self.forget_all()

    def _end_before(self, block: int) -> int:
        """Where the plain bytes of the blocks in front of this one end."""
        while block:
            block -= 1
            cells = read_cells(self._block(block), block)
            if cells:
                return cells[-1].stop
        return 0

    def ends_with(self, block: int, cells: list[Cell]) -> None:
        """These are the cells of the last block from now on."""
        for later in [number for number in self._starts if number > block]:
            del self._starts[later]
        self._starts[block] = cells[0].start
        self.tail, self._recent = (block, cells), (-1, [])
        self.end, self.raw_end = cells[-1].stop, cells[-1].end

    def note(self, cells: Iterable[Cell]) -> None:
        """They were written behind the others."""
        for cell in cells:
            block = cell.position // BLOCK_BYTES
            tail_block, tail = self.tail
            if not tail or block != tail_block:
                self._starts[block] = cell.start
                self.tail = block, [cell]
            else:
                if cell.start < tail[-1].stop:
                    tail[-1] = tail[-1]._replace(stop=max(cell.start, tail[-1].start))
                tail.append(cell)
            self.end, self.raw_end = cell.stop, cell.end

    def block_of(self, position: int) -> int:
        return max(0, bisect_right(range(self.tail[0] + 1), position, key=self._start_of) - 1)

    def cells(self, block: int) -> list[Cell]:
        return self._known(block) or self._parse(self._block(block), block)

    def _known(self, block: int) -> list[Cell] | None:
        for known, cells in (self.tail, self._recent):
            if known == block:
                return cells
        return None

    def blocks_from(self, block: int, length: int) -> Iterator[tuple[memoryview, int, list[Cell]]]:
        """(bytes, number, cells) of blocks from this one on; several with each read for a long `length`."""
        last = self.tail[0]
        while block <= last:
            count = max(1, min(READ_BLOCKS, last - block + 1, 1 + length // BLOCK_BYTES))
            raw = memoryview(self._raw.read_at(block * BLOCK_BYTES, count * BLOCK_BYTES))
            for at in range(0, count * BLOCK_BYTES, BLOCK_BYTES):
                piece = raw[at : at + BLOCK_BYTES]
                yield piece, block, self._known(block) or self._parse(piece, block)
                block += 1
            length -= count * BLOCK_BYTES

    def start_after(self, block: int) -> int:
        """Where the plain bytes behind this block start."""
        return self._start_of(block + 1) if block < self.tail[0] else self.end

    def _block(self, block: int) -> memoryview:
        return memoryview(self._raw.read_at(block * BLOCK_BYTES, BLOCK_BYTES))

    def _parse(self, raw: memoryview, block: int) -> list[Cell]:
        """The cells of a block that is not the last one."""
        cells = read_cells(raw, block)
        if cells and cells[-1].stop > (start := self._start_of(block + 1)):
            cells[-1] = cells[-1]._replace(stop=max(start, cells[-1].start))
        self._recent = block, cells
        return cells

    def _start_of(self, block: int) -> int:
        """Where the first cell of a block starts; without a cell, that of the next one which has any."""
        found = block
        while (start := self._starts.get(found)) is None and (start := self._look_up(found)) is None:
            found += 1  # ends: the last block has a cell
        for number in range(block, found + 1):
            self._starts[number] = start
        return start

    def _look_up(self, block: int) -> int | None:
        front = self._raw.read_at(block * BLOCK_BYTES, front_bytes(block) + CELL_HEADER_BYTES)
        start = read_start(front, block)
        if start is None and (cells := read_cells(self._block(block), block)):
            start = cells[0].start
        return start
