"""Entries of the metadata log in the form they have on the disk: a batch with one record each.

The record's offset is the entry's index, its key the kind, its value the data. Its headers hold what the
CRC must cover and the batch's own header leaves out, the term, and up to where the log was durable by then:

    term          decimal; the batch's leader epoch is the same number
    synced-below  decimal; when this was written, every entry with a lower index was on stable storage
"""

from typing import NamedTuple

from tidelog.base.errors import KafkaError, ProtocolError, StorageError
from tidelog.base.ids import TimestampMs
from tidelog.metadata.image.records import NewerFormatError
from tidelog.metadata.store.entries.data import decode_decision
from tidelog.raft.entries import Configuration, Entry, EntryKind
from tidelog.wire.batch import read_header
from tidelog.wire.record import Record as Slot
from tidelog.wire.record import read_records, write_batch

TERM = "term"
SYNCED_BELOW = "synced-below"

_KEYS = {kind: kind.name.lower().encode() for kind in EntryKind}
KINDS = {key: kind for kind, key in _KEYS.items()}


class StoredEntry(NamedTuple):
    entry: Entry
    synced_below: int


def encode_entry(entry: Entry, index: int, synced_below: int, now_ms: TimestampMs) -> bytearray:
    headers: list[tuple[str, bytes | None]] = [
        (TERM, b"%d" % entry.term),
        (SYNCED_BELOW, b"%d" % synced_below),
    ]
    slot = Slot(index, now_ms, _KEYS[entry.kind], entry.data, headers)
    return write_batch([slot], base_offset=index, leader_epoch=entry.term)


def decode_entry(batch: bytes) -> StoredEntry:
    """The entry of a batch whose CRC was checked. StorageError, to which the caller adds the place."""
    try:
        slots = read_records(batch)
    except KafkaError as error:
        raise StorageError(f"a batch that breaks the format: {error.message}") from error
    if len(slots) != 1:
        raise StorageError(f"a batch of {len(slots)} records where each entry is one of its own")
    slot = slots[0]
    if slot.key not in KINDS:
        raise NewerFormatError(
            f"an entry of the unknown kind {slot.key!r}: a newer version of Tidelog wrote it; start that "
            "version, or a newer one, on this data"
        )
    numbers = {name: value for name, value in slot.headers if name in (TERM, SYNCED_BELOW)}
    try:
        term, synced_below = int(numbers[TERM] or b""), int(numbers[SYNCED_BELOW] or b"")
    except (KeyError, ValueError) as error:
        raise StorageError(f"an entry without its term: {slot.headers!r}") from error
    if read_header(batch).leader_epoch != term:
        raise StorageError(f"the leader epoch {read_header(batch).leader_epoch} of an entry of term {term}")
    return StoredEntry(Entry(term, KINDS[slot.key], slot.value or b""), synced_below)


def check_content(entry: Entry) -> None:
    """StorageError unless this version can make sense of what the entry holds."""
    if entry.kind is EntryKind.DATA:
        decode_decision(entry.data)
    elif entry.kind is EntryKind.CONFIG:
        try:
            Configuration.decode(entry.data)
        except ProtocolError as error:
            raise StorageError(str(error)) from error
