"""Walking a segment file from batch to batch, reading headers only."""

from collections.abc import Iterator

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ports import File
from tidelog.wire.batch import HEADER, LENGTH_MIN, MAGIC, OVERHEAD, BatchHeader, read_header

_CHUNK_BYTES = 16 * 1024
"""Read at once where batches are small: many of them cost one read."""
_HEADER_BYTES = 256
"""Read at once where they are large: of each little more than the header."""


def walk(file: File, position: int, stop: int) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) of the batches from `position` up to `stop`; KafkaError where there is none."""
    chunk, chunk_at = b"", position
    read_bytes = _CHUNK_BYTES
    header_bytes = HEADER.size
    while position < stop:
        at = position - chunk_at
        if at + header_bytes > len(chunk):
            chunk, chunk_at, at = file.read_at(position, min(read_bytes, stop - position)), position, 0
            if len(chunk) < header_bytes:
                raise no_batch(file, position, f"only {len(chunk)} bytes are left")
        header = read_header(chunk, at)
        length = header.length
        if header.magic != MAGIC or length < LENGTH_MIN or position + OVERHEAD + length > stop:
            raise _why_not(file, position, stop, header)
        yield position, header
        read_bytes = _CHUNK_BYTES if length < _CHUNK_BYTES // 4 else _HEADER_BYTES
        position += OVERHEAD + length


def header_at(file: File, position: int, stop: int) -> BatchHeader:
    """The header of the one batch at `position`; KafkaError where there is none that ends by `stop`."""
    header = read_header(file.read_at(position, HEADER.size))
    if header.magic != MAGIC or header.length < LENGTH_MIN or position + header.size > stop:
        raise _why_not(file, position, stop, header)
    return header


def _why_not(file: File, position: int, stop: int, header: BatchHeader) -> KafkaError:
    if header.magic != MAGIC or header.length < LENGTH_MIN:
        return no_batch(file, position, f"magic {header.magic}, length {header.length}")
    return no_batch(file, position, f"length {header.length} with {stop - position} bytes left")


def no_batch(file: File, position: int, why: str) -> KafkaError:
    return KafkaError(ErrorCode.CORRUPT_MESSAGE, f"no record batch in {file.path} at {position}: {why}")
