"""The records of the batches that a range asks for, uncompressed and side by side in one buffer.

Numpy's price is per call, so many batches are decoded together; a bound on the bytes keeps a small answer
that decompresses to a giant from filling the memory.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Offset
from tidelog.base.ports import Buffer
from tidelog.spark.records.aborted import AbortedFilter
from tidelog.wire.batch import CODEC_MAX, CONTROL, HEADER, TRANSACTIONAL, BatchHeader, crc_ok, iter_batches
from tidelog.wire.compression import Codec, decompress
from tidelog.wire.record import DECOMPRESSED_BYTES_MAX

GROUP_BYTES_MAX: Final = 1024 * 1024
"""Uncompressed bytes decoded together, so that the columns stay in the cache; one batch may be larger."""
_OF_TRANSACTIONS = TRANSACTIONAL | CONTROL


class Group(NamedTuple):
    data: Buffer
    batches: list[tuple[BatchHeader, int, int]]
    """(header, start and end of its records in `data`), in order."""
    next_offset: Offset
    """Where to read on once the group is done."""


def groups(
    records: Buffer,
    start: Offset,
    end: Offset,
    *,
    aborted: AbortedFilter,
    check_crcs: bool,
    bytes_max: int = GROUP_BYTES_MAX,
) -> Iterator[Group]:
    """At least one, which may be without batches; an incomplete last batch is left out."""
    gathered = _Gathered(records, start)
    view = memoryview(records)
    least = 0
    for position, header in iter_batches(records):
        if header.base_offset >= end:
            break
        if check_crcs and not crc_ok(view, position, header):
            raise KafkaError(
                ErrorCode.CORRUPT_MESSAGE, f"the batch at offset {header.base_offset} fails its CRC"
            )
        if header.base_offset < least:
            raise corrupt(header, f"it begins below {least}, where the one before it ends")
        if header.last_offset_delta < 0 or header.record_count < 0:
            raise corrupt(header, f"{header.record_count} records, last delta {header.last_offset_delta}")
        stop = position + header.size
        # Few logs have transactions, so the filter is not asked about the batches of others.
        is_dropped = header.attributes & _OF_TRANSACTIONS and aborted.drops(view[position:stop], header)
        if header.record_count and not is_dropped and header.last_offset >= start:
            if gathered.size and gathered.size + _guess(header) > bytes_max:
                yield gathered.take()
            gathered.add(view, header, position + HEADER.size, stop)
        least = header.next_offset
        gathered.next_offset = max(least, start)
    yield gathered.take()


def corrupt(header: BatchHeader, why: str) -> KafkaError:
    return KafkaError(ErrorCode.CORRUPT_MESSAGE, f"the batch at offset {header.base_offset}: {why}")


def _guess(header: BatchHeader) -> int:
    return header.length if header.codec == Codec.NONE else 4 * header.length


class _Gathered:
    """A group that grows. While nothing is compressed it is a part of the given buffer, without a copy."""

    def __init__(self, records: Buffer, start: Offset) -> None:
        self._records = records
        self._parts: list[bytes | memoryview] | None = None
        self._batches: list[tuple[BatchHeader, int, int]] = []
        self.size = 0
        self.next_offset = start

    def add(self, view: memoryview, header: BatchHeader, start: int, stop: int) -> None:
        if header.codec > CODEC_MAX:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
                f"the batch at offset {header.base_offset} has compression type {header.codec}",
            )
        if header.codec == Codec.NONE and self._parts is None:
            self._batches.append((header, start, stop))
            self.size += stop - start
            return
        if self._parts is None:
            self._begin_copying(view)
        part = view[start:stop] if header.codec == Codec.NONE else _decompressed(header, view[start:stop])
        self._append(header, part)

    def _begin_copying(self, view: memoryview) -> None:
        plain, self._batches, self._parts, self.size = self._batches, [], [], 0
        for header, start, stop in plain:
            self._append(header, view[start:stop])

    def _append(self, header: BatchHeader, part: bytes | memoryview) -> None:
        if self._parts is not None:
            self._parts.append(part)
        self._batches.append((header, self.size, self.size + len(part)))
        self.size += len(part)

    def take(self) -> Group:
        batches = self._batches
        data: Buffer
        if self._parts is None:
            first, stop = (batches[0][1], batches[-1][2]) if batches else (0, 0)
            data = memoryview(self._records)[first:stop]
            batches = [(header, begins - first, ends - first) for header, begins, ends in batches]
        elif len(self._parts) == 1 and isinstance(self._parts[0], bytes):
            data = self._parts[0]
        else:
            data = b"".join(self._parts)
        group = Group(data, batches, self.next_offset)
        self._parts, self._batches, self.size = None, [], 0
        return group


def _decompressed(header: BatchHeader, body: memoryview) -> bytes:
    try:
        return decompress(header.codec, body, DECOMPRESSED_BYTES_MAX)
    except KafkaError as error:
        raise KafkaError(error.code, f"the batch at offset {header.base_offset}: {error}") from None
