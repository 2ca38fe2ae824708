"""Metadata records in record batches, the form they have in snapshots.

A batch is checked as a whole: all of its records hold, or none.
"""

from collections.abc import Iterable

from tidelog.base.errors import KafkaError, StorageError
from tidelog.base.ids import Offset, TimestampMs
from tidelog.metadata.image.records import Record, decode_record, encode_record
from tidelog.wire.record import Record as Slot
from tidelog.wire.record import read_records, write_batch


def encode_batch(records: Iterable[Record], *, base_offset: Offset, now_ms: TimestampMs) -> bytearray:
    slots = [
        Slot(offset, now_ms, None, encode_record(record), [])
        for offset, record in enumerate(records, base_offset)
    ]
    return write_batch(slots, base_offset=base_offset)


def decode_batch(batch: bytes) -> list[Record]:
    """The records of a batch whose CRC was checked. StorageError, to which the caller adds the place."""
    try:
        slots = read_records(batch)
    except KafkaError as error:
        raise StorageError(f"a batch that breaks the format: {error.message}") from error
    return [decode_record(slot.value or b"") for slot in slots]
