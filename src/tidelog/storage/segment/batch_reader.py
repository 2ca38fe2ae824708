"""Reading a segment file from its first batch to its last, whole batches in large reads, for compaction.

Every batch is checked against its CRC: one that is written anew would get a CRC that hides the damage. Its
offset, which no CRC covers, must come after the one before and lie within the segment.
"""

from collections.abc import Iterator

from tidelog.base.ids import Offset
from tidelog.base.ports import File
from tidelog.storage.segment.batch_walk import no_batch
from tidelog.wire.batch import HEADER, LENGTH_MIN, MAGIC, BatchHeader, crc_ok, read_header

_CHUNK_BYTES = 1 << 20


def read_batches(
    file: File, stop: int, base: Offset, end: Offset
) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Header and bytes of every batch below the position `stop`, with offsets from `base` up to `end`.

    KafkaError where there is none.
    """
    position = 0
    expected = base
    wanted = _CHUNK_BYTES
    while position < stop:
        left = stop - position
        asked = min(wanted, left)
        chunk = memoryview(file.read_at(position, asked))
        at = 0
        while len(chunk) - at >= HEADER.size:
            header = read_header(chunk, at)
            if header.magic != MAGIC or header.length < LENGTH_MIN:
                raise no_batch(file, position + at, f"magic {header.magic}, length {header.length}")
            wanted = max(_CHUNK_BYTES, header.size)
            if at + header.size > len(chunk):
                break
            if not crc_ok(chunk, at, header):
                raise no_batch(file, position + at, "its CRC is wrong")
            if not expected <= header.base_offset < header.next_offset <= end:
                raise no_batch(file, position + at, f"offset {header.base_offset} in {expected} to {end}")
            expected = header.next_offset
            yield header, chunk[at : at + header.size]
            at += header.size
        if not at and not asked < wanted <= left:  # a larger read would not bring the whole batch either
            raise no_batch(file, position, f"{len(chunk)} of {left} bytes could be read")
        position += at
