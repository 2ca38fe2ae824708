"""A snapshot of the metadata as the quorum stores and sends it: the image after all entries up to an index.

Record batches with offsets from 0 on. The first holds one record that says which snapshot this is and how
many records follow; applied to an empty image, they give the stored one.
"""

from itertools import islice

import msgspec

from tidelog.base.errors import KafkaError, ProtocolError, StorageError
from tidelog.base.ids import TimestampMs
from tidelog.base.invariant import InvariantError
from tidelog.metadata.image.as_records import image_records
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.image.records import NewerFormatError, Record
from tidelog.metadata.store.record_batches import decode_batch, encode_batch
from tidelog.raft.entries import NO_INDEX, NO_TERM, Configuration, Index, Term
from tidelog.wire.batch import HEADER, LENGTH_MIN, MAGIC, BatchHeader, crc_ok, read_header
from tidelog.wire.record import Record as Slot
from tidelog.wire.record import read_records, write_batch

_KEY = b"snapshot"
_RECORDS_PER_BATCH = 1000


class SnapshotHead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The value of the first record."""

    version: int
    index: Index
    term: Term
    configuration: msgspec.Raw
    written_ms: TimestampMs
    records: int


class LoadedSnapshot(msgspec.Struct, frozen=True):
    """Without an entry yet, it is the empty image at NO_INDEX."""

    index: Index = NO_INDEX
    """Of the last entry that is part of the image."""
    term: Term = NO_TERM
    configuration: Configuration | None = None
    """None without a snapshot: the settings name the first voters."""
    image: ClusterImage = ClusterImage()


VERSION = 1
_head_decoder = msgspec.json.Decoder(SnapshotHead)


def encode_snapshot(
    image: ClusterImage, index: Index, term: Term, configuration: Configuration, now_ms: TimestampMs
) -> bytes:
    body = image_records(image)
    batches: list[bytearray] = []
    count = 0
    while part := list(islice(body, _RECORDS_PER_BATCH)):
        batches.append(encode_batch(part, base_offset=1 + count, now_ms=now_ms))
        count += len(part)
    voters = msgspec.Raw(configuration.encode())
    head = msgspec.json.encode(SnapshotHead(VERSION, index, term, voters, now_ms, count))
    return b"".join([write_batch([Slot(0, now_ms, _KEY, head, [])]), *batches])


def decode_snapshot(data: bytes) -> LoadedSnapshot:
    """StorageError with the position unless every byte is as it was written; the caller adds the file."""
    head, position = _read_head(data)
    records: list[Record] = []
    while position < len(data):
        header = _batch_at(data, position, 1 + len(records))
        try:
            records += decode_batch(data[position : position + header.size])
        except StorageError as error:
            raise type(error)(f"at {position}: {error}") from error
        position += header.size
    if len(records) != head.records:
        raise StorageError(f"at {position}: {len(records)} records of {head.records}: it is truncated")
    try:
        image = advance(ClusterImage(), records).after
    except (InvariantError, ValueError) as error:
        raise StorageError(f"at {position}: its records do not fit together: {error}") from error
    return LoadedSnapshot(head.index, head.term, _configuration(head), image)


def decode_configuration(data: bytes) -> Configuration:
    """The voters that the snapshot names, without decoding its image."""
    head, _ = _read_head(data)
    return _configuration(head)


def _read_head(data: bytes) -> tuple[SnapshotHead, int]:
    header = _batch_at(data, 0, 0)
    try:
        slots = read_records(data[: header.size])
    except KafkaError as error:
        raise StorageError(f"at 0: {error.message}") from error
    if len(slots) != 1 or slots[0].key != _KEY:
        raise StorageError("at 0: it does not begin as a snapshot does")
    value = slots[0].value or b""
    try:
        version = msgspec.json.decode(value, type=dict[str, msgspec.Raw]).get("version")
        if version is not None and bytes(version) != b"%d" % VERSION:
            raise NewerFormatError(
                f"at 0: a snapshot of the unknown version {bytes(version).decode()}: a newer version of "
                "Tidelog wrote it; start that version, or a newer one, on this data"
            )
        return _head_decoder.decode(value), header.size
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StorageError(f"at 0: it does not begin as a snapshot does: {error}") from error


def _configuration(head: SnapshotHead) -> Configuration:
    try:
        return Configuration.decode(bytes(head.configuration))
    except ProtocolError as error:
        raise StorageError(f"at 0: {error}") from error


def _batch_at(data: bytes, position: int, offset: int) -> BatchHeader:
    if position + HEADER.size > len(data):
        raise StorageError(f"at {position}: {len(data) - position} bytes cannot be a batch")
    header = read_header(data, position)
    fits = header.length >= LENGTH_MIN and position + header.size <= len(data)
    if header.magic != MAGIC or not fits or header.base_offset != offset:
        raise StorageError(f"at {position}: this is not the batch that begins with record {offset}")
    if not crc_ok(data, position, header):
        raise StorageError(f"at {position}: wrong CRC")
    return header
