"""Producer state on disk: Kafka's `.snapshot` files, named after the offset up to which they speak.

A snapshot that does not check out is worth nothing, but no data is lost with it: the log rebuilds it.

Kafka keeps a producer's last batch in it, and so refuses retries of those before it after a restart. We keep
all that we remember: the earlier ones as entries of the same producer in front of the last, which is the one
that counts for Kafka.
"""

import struct

from crc32c import crc32c

from tidelog.base.errors import StorageError
from tidelog.base.ids import NO_OFFSET, NO_TIMESTAMP, Offset, ProducerId, TimestampMs
from tidelog.base.ports import Disk
from tidelog.storage.producers.producers import Producer, Producers, WrittenBatch

# Snapshot, big-endian:
#   version  i16  1
#   crc      u32  CRC32C of everything after this field
#   count    i32
#   entries, 46 bytes each:
#     producer_id i64, epoch i16, last_sequence i32, last_offset i64, offset_delta i32, timestamp i64,
#     coordinator_epoch i32, first offset of the open transaction i64
_HEAD = struct.Struct(">hI")
_COUNT = struct.Struct(">i")
_ENTRY = struct.Struct(">qhiqiqiq")
_VERSION = 1
_NO_BATCH = WrittenBatch(-1, NO_OFFSET, 0, NO_TIMESTAMP)


def encode(producers: Producers) -> bytes:
    body = bytearray(_COUNT.size)
    count = 0
    for producer_id, producer in producers:
        for batch in producer.batches[:-1]:
            body += _entry(producer_id, producer, batch, batch.timestamp, NO_OFFSET)
        last = producer.batches[-1] if producer.batches else _NO_BATCH
        body += _entry(producer_id, producer, last, producer.last_timestamp, producer.txn_first)
        count += max(1, len(producer.batches))
    _COUNT.pack_into(body, 0, count)
    return _HEAD.pack(_VERSION, crc32c(body)) + body


def _entry(
    producer_id: ProducerId,
    producer: Producer,
    batch: WrittenBatch,
    timestamp: TimestampMs,
    txn_first: Offset,
) -> bytes:
    return _ENTRY.pack(
        producer_id,
        producer.epoch,
        batch.last_sequence,
        batch.last_offset,
        batch.offset_delta,
        timestamp,
        producer.coordinator_epoch,
        txn_first,
    )


def decode(raw: bytes, end: Offset, path: str) -> Producers:
    """The state up to `end`, or StorageError."""
    if len(raw) < _HEAD.size + _COUNT.size:
        raise StorageError(f"{path}: {len(raw)} bytes are no producer snapshot")
    version, crc = _HEAD.unpack_from(raw)
    body = memoryview(raw)[_HEAD.size :]
    if version != _VERSION:
        raise StorageError(f"{path}: version {version}, {_VERSION} is known")
    if crc32c(body) != crc:
        raise StorageError(f"{path}: the CRC does not fit")
    (count,) = _COUNT.unpack_from(body)
    if count * _ENTRY.size != len(body) - _COUNT.size:
        raise StorageError(f"{path}: {count} entries announced in {len(body)} bytes")
    producers = Producers(end)
    for entry in _ENTRY.iter_unpack(body[_COUNT.size :]):
        producer_id, epoch, last_sequence, last_offset, delta, timestamp, coordinator_epoch, txn_first = entry
        producer = Producer(epoch, coordinator_epoch, timestamp, txn_first)
        earlier = producers.get(producer_id)
        if earlier is not None and earlier.epoch == epoch:
            producer.batches = earlier.batches
        if last_offset >= 0:
            producer.batches.append(WrittenBatch(last_sequence, last_offset, delta, timestamp))
        producers.put(producer_id, producer)
    return producers


def write(disk: Disk, path: str, producers: Producers) -> None:
    """Not synced: its CRC finds a snapshot that a crash tore, and the log makes another."""
    temporary = path + ".tmp"
    file = disk.open(temporary, create=True)
    try:
        file.truncate(0)
        file.write_at(0, [encode(producers)])
    finally:
        file.close()
    disk.rename(temporary, path)
