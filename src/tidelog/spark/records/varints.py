"""Zigzag varints as columns: one number of every record at once, with numpy.

`read` gathers four bytes at each position as one word, which settles nearly every number; longer ones go
through a byte-by-byte loop over only the rows that need it. `write` lays numbers out for `encode`.
"""

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

_WORD = 4


class OutOfRange(ValueError):
    """A number that does not fit its bits, or that the bytes end within; `row` is the first such."""

    def __init__(self, row: int, bits: int) -> None:
        super().__init__(f"a variable-length number exceeds {bits} bits or the end of the bytes")
        self.row = row


def words_of(data: Bytes) -> npt.NDArray[np.uint32]:
    """The four bytes from each position on as one little-endian word: a view, nothing is copied."""
    return np.ndarray((max(0, len(data) - _WORD + 1),), dtype="<u4", buffer=data, strides=(1,))


def read(data: Bytes, words: npt.NDArray[np.uint32], at: Ints, bits: int = 32) -> tuple[Ints, Ints]:
    """(values, positions after them) of the numbers at ascending positions `at`, all within `data`."""
    word = _gather(data, words, at)
    first = word & np.uint32(0x7F)
    more = word & np.uint32(0x80)
    if not more.any():
        return _signed(first), at + 1
    raw = first | ((word & (more * np.uint32(0xFE))) >> np.uint32(1))
    after = at + (1 + (more >> np.uint32(7)))
    third = word & (more << np.uint32(8))
    if not third.any():
        return _signed(raw), after
    fourth = word & (third << np.uint32(8))
    raw |= (word & ((third >> np.uint32(15)) * np.uint32(0x7F0000))) >> np.uint32(2)
    raw |= (word & ((fourth >> np.uint32(23)) * np.uint32(0x7F000000))) >> np.uint32(3)
    after += (third >> np.uint32(15)) + (fourth >> np.uint32(23))
    values = _signed(raw)
    longer = np.flatnonzero(word & (fourth << np.uint32(8)))
    if len(longer):
        try:
            values[longer], after[longer] = _read_long(data, at[longer], bits)
        except OutOfRange as error:
            raise OutOfRange(int(longer[error.row]), bits) from None
    return values, after


def _gather(data: Bytes, words: npt.NDArray[np.uint32], at: Ints) -> npt.NDArray[np.uint32]:
    last = len(words) - 1
    if at[-1] <= last:
        return words[at]
    # The end of the bytes: what lies behind it reads as zero, which ends any number.
    tail = np.zeros(2 * _WORD, np.uint8)
    kept = data[max(0, len(data) - _WORD) :]
    tail[: len(kept)] = kept
    near_end = int(np.searchsorted(at, last, side="right"))
    out = np.empty(len(at), np.uint32)
    if near_end:
        out[:near_end] = words[at[:near_end]]
    out[near_end:] = words_of(tail)[at[near_end:] - (len(data) - len(kept))]
    return out


def _signed(raw: npt.NDArray[np.uint32]) -> Ints:
    return ((raw >> np.uint32(1)) ^ (np.uint32(0) - (raw & np.uint32(1)))).view(np.int32).astype(np.int64)


def _read_long(data: Bytes, at: Ints, bits: int) -> tuple[Ints, Ints]:
    raw = np.zeros(len(at), np.uint64)
    after = at.copy()
    rows = np.arange(len(at))
    for shift in range(0, bits, 7):
        position = after[rows]
        outside = position >= len(data)
        if outside.any():
            raise OutOfRange(int(rows[outside.argmax()]), bits)
        byte = data[position].astype(np.uint64)
        if shift + 7 > bits:
            # The last byte of the longest form has fewer bits left than it could carry.
            too_large = byte >> np.uint64(bits - shift) != 0
            if too_large.any():
                raise OutOfRange(int(rows[too_large.argmax()]), bits)
        raw[rows] |= (byte & np.uint64(0x7F)) << np.uint64(shift)
        after[rows] += 1
        rows = rows[byte >= 0x80]
        if not len(rows):
            return _signed_long(raw), after
    raise OutOfRange(int(rows[0]), bits)


def _signed_long(raw: npt.NDArray[np.uint64]) -> Ints:
    sign = (np.uint64(0) - (raw & np.uint64(1))).view(np.int64)
    return (raw >> np.uint64(1)).view(np.int64) ^ sign


def widths(values: Ints) -> Ints:
    """How many bytes each number takes."""
    raw = _zigzag(values)
    found = np.ones(len(values), np.int64)
    limit = int(raw.max()) if len(raw) else 0
    for shift in range(7, 64, 7):
        if limit >> shift == 0:
            break
        found += (raw >> np.uint64(shift)) != 0
    return found


def write(columns: list[Ints]) -> tuple[Bytes, Ints]:
    """The numbers of every row side by side: (all the bytes, where each row begins, and the end)."""
    cells: list[Bytes] = []
    used: list[npt.NDArray[np.bool_]] = []
    rows = len(columns[0])
    for values in columns:
        raw = _zigzag(values)
        limit = int(raw.max()) if rows else 0
        for shift in range(0, 64, 7):
            if shift and limit >> shift == 0:
                break
            left = raw >> np.uint64(shift)
            more = left > np.uint64(0x7F)
            cells.append((left & np.uint64(0x7F)).astype(np.uint8) | (more.view(np.uint8) << np.uint8(7)))
            used.append(left != 0 if shift else np.ones(rows, np.bool_))
    edges = np.zeros(rows + 1, np.int64)
    mask = np.stack(used, axis=1)
    np.cumsum(mask.sum(axis=1), out=edges[1:])
    table = np.stack(cells, axis=1)
    return (table.reshape(-1) if mask.all() else table[mask]), edges


def _zigzag(values: Ints) -> npt.NDArray[np.uint64]:
    return ((values << 1) ^ (values >> 63)).view(np.uint64)
