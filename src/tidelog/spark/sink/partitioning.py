"""Which partition a row goes to: the one it names, else by its key as the Java client does, else any.

Java's partitioner takes murmur2 of the key's bytes, so rows with equal keys meet those of other producers.
Keys are hashed together, four bytes of each at a time.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Numbers = npt.NDArray[np.int32]
Hashes = npt.NDArray[np.uint32]
Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]

_SEED: Final = np.uint32(0x9747B28C)
_M: Final = np.uint32(0x5BD1E995)
_POSITIVE: Final = np.uint32(0x7FFFFFFF)


def murmur2(keys: pa.Array) -> Hashes:
    """Of each binary value. What it is for a null has no meaning."""
    offsets, data = _buffers(keys)
    starts, lengths = offsets[:-1], np.diff(offsets)
    hashes = _SEED ^ lengths.astype(np.uint32)
    if not len(hashes):
        return hashes
    shortest, longest = int(lengths.min()), int(lengths.max())
    if shortest == longest:
        _mix_equal(hashes, data[:-4].reshape(len(hashes), longest))
    else:
        _mix_unequal(hashes, data, starts, lengths)
    hashes ^= hashes >> np.uint32(13)
    hashes *= _M
    return hashes ^ (hashes >> np.uint32(15))


def _mix_equal(hashes: Hashes, keys: Bytes) -> None:
    """Keys of one length, as ids often are: their bytes are a table."""
    length = keys.shape[1]
    padded = np.zeros((len(keys), -(-length // 4) * 4), np.uint8)
    padded[:, :length] = keys
    words = padded.view(np.dtype("<u4"))
    for index in range(length // 4):
        _mix(hashes, words[:, index], slice(None))
    if length % 4:
        hashes ^= words[:, -1]
        hashes *= _M


def _mix_unequal(hashes: Hashes, data: Bytes, starts: Places, lengths: Places) -> None:
    # Every four bytes as a number, wherever they begin; the data is padded, so the last tail has four too.
    words = np.ndarray((len(data) - 3,), np.dtype("<u4"), data.tobytes(), strides=(1,))
    whole = lengths // 4
    everywhere, longest = int(whole.min()), int(whole.max())
    for index in range(longest):
        rows = slice(None) if index < everywhere else np.flatnonzero(whole > index)
        _mix(hashes, words[starts[rows] + 4 * index], rows)
    tails = np.flatnonzero(lengths % 4)
    if len(tails):
        bits = (8 * (lengths[tails] % 4)).astype(np.uint32)
        left = words[starts[tails] + 4 * whole[tails]] & ((np.uint32(1) << bits) - np.uint32(1))
        hashes[tails] = (hashes[tails] ^ left) * _M


def _mix(hashes: Hashes, words: Hashes, rows: slice | npt.NDArray[np.intp]) -> None:
    """Four more bytes of each of these rows."""
    mixed = words * _M
    mixed ^= mixed >> np.uint32(24)
    mixed *= _M
    hashes[rows] = (hashes[rows] * _M) ^ mixed


def by_key(keys: pa.Array, partitions: int, sticky: int) -> Numbers:
    """Rows without a key go together, to the `sticky` partition: few large batches are better than many."""
    if keys.null_count == len(keys):
        return np.full(len(keys), sticky, np.int32)
    chosen = ((murmur2(keys) & _POSITIVE) % np.uint32(partitions)).astype(np.int32)
    if keys.null_count:
        chosen[np.asarray(keys.is_null())] = sticky
    return chosen


class NoSuchPartition(ValueError):
    pass


def by_column(named: pa.Array, otherwise: Numbers, topic: str, partitions: int) -> Numbers:
    """What the rows name; nulls go where they would have gone without the column."""
    nulls = np.asarray(named.is_null())
    chosen = np.where(nulls, otherwise, np.asarray(named.fill_null(0))).astype(np.int32)
    wrong = chosen[(chosen < 0) | (chosen >= partitions)]
    if len(wrong):
        raise NoSuchPartition(
            f"a row names partition {wrong[0]} of topic {topic}, which has 0 to {partitions - 1}"
        )
    return chosen


def _buffers(keys: pa.Array) -> tuple[Places, Bytes]:
    """Where each value begins and ends, and all bytes with four to spare."""
    wide = pa.types.is_large_binary(keys.type)
    _, offsets_buffer, data_buffer = keys.buffers()
    seen = np.frombuffer(offsets_buffer, np.int64 if wide else np.int32, len(keys) + 1 + keys.offset)
    offsets: Places = seen[keys.offset :].astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    data = np.zeros(last - first + 4, np.uint8)
    if data_buffer is not None:
        data[: last - first] = np.frombuffer(data_buffer, np.uint8)[first:last]
    return offsets - first, data
