"""The files of the metadata quorum: entries with their term and records, snapshots, and the term and vote."""

from collections.abc import Iterator
from typing import Any

import msgspec

from tidelog.base.errors import StorageError
from tidelog.cli.log.dump.secrets import without_secrets
from tidelog.cli.log.dumped import Dumped, moment
from tidelog.cli.log.files import read_bytes
from tidelog.cli.records.format import visible
from tidelog.metadata.image.as_records import image_records
from tidelog.metadata.image.records import encode_record
from tidelog.metadata.store.entries.batches import KINDS, SYNCED_BELOW, TERM
from tidelog.metadata.store.quorum_state import decode_state
from tidelog.metadata.store.snapshot import LoadedSnapshot, decode_snapshot
from tidelog.raft.entries import Configuration, EntryKind
from tidelog.wire.record import Record


def is_entry(record: Record) -> bool:
    """Nothing else than the metadata log writes records like this."""
    return record.key in KINDS and [name for name, _ in record.headers] == [TERM, SYNCED_BELOW]


def dump_entry(record: Record) -> Iterator[Dumped]:
    """A line for the entry, and one for each metadata record in it."""
    kind = KINDS[record.key or b""]
    headers = {name: (value or b"").decode("ascii", "replace") for name, value in record.headers}
    content = _parsed(record.value) if kind is not EntryKind.NOOP else None
    records: list[Any] = []
    if kind is EntryKind.DATA and isinstance(content, list):
        content = records = [without_secrets(one) for one in content]
    facts: dict[str, Any] = {
        "index": record.offset,
        "timestamp": record.timestamp,
        "entry_kind": kind.name.lower(),
        "term": int(headers[TERM]) if headers[TERM].isdigit() else headers[TERM],
        "synced_below": int(headers[SYNCED_BELOW]) if headers[SYNCED_BELOW].isdigit() else None,
    }
    shown = f"{record.offset:>24}  {moment(record.timestamp)}  {kind.name.lower()}  term {headers[TERM]}"
    if kind is EntryKind.DATA:
        yield Dumped("entry", shown, facts | {"records": content})
    elif kind is EntryKind.CONFIG:
        yield Dumped("entry", f"{shown}  {visible(record.value)}", facts | {"configuration": content})
    else:
        yield Dumped("entry", shown, facts)
    if kind is not EntryKind.NOOP and content is None:
        yield _damage(f"{record.offset:>24}  the entry's content is no JSON")
    for one in records:
        yield Dumped("metadata", f"{'':>26}{visible(msgspec.json.encode(one))}", {"record": one})


def _parsed(value: bytes | None) -> Any:
    try:
        return msgspec.json.decode(value or b"")
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def dump_metadata_snapshot(path: str, with_records: bool) -> Iterator[Dumped]:
    data = read_bytes(path)
    try:
        loaded = decode_snapshot(data)
    except StorageError as error:
        yield _damage(f"{path} {error}")
        return
    yield _snapshot(loaded, len(data))
    count = 0
    for record in image_records(loaded.image):
        count += 1
        if with_records:
            shown = without_secrets(msgspec.json.decode(encode_record(record)))
            yield Dumped(
                "metadata", f"  {visible(msgspec.json.encode(shown))}", {"record": shown}, counts=True
            )
    facts = {"records": count, "bytes": len(data)}
    yield Dumped("summary", f"{count:,} records, {len(data):,} bytes: all whole", facts)


def _snapshot(loaded: LoadedSnapshot, size: int) -> Dumped:
    image, voters = loaded.image, loaded.configuration
    facts = {
        "index": loaded.index,
        "term": loaded.term,
        "configuration": None if voters is None else msgspec.json.decode(voters.encode()),
        "cluster_id": image.cluster_id,
        "brokers": len(image.brokers),
        "topics": len(image.topics),
        "bytes": size,
    }
    shown = (
        f"snapshot up to index {loaded.index}, term {loaded.term}: topics {len(image.topics):,}, "
        f"brokers {len(image.brokers):,}, voters {_voters(voters)}"
    )
    return Dumped("snapshot", shown, facts)


def _voters(configuration: Configuration | None) -> str:
    if configuration is None:
        return "not known yet"
    return visible(",".join(f"{one.id}@{one.address}" for one in configuration.voters).encode())


def dump_quorum_state(path: str) -> Iterator[Dumped]:
    data = read_bytes(path)
    try:
        state = decode_state(data)
    except StorageError as error:
        yield _damage(f"{path}: {error}")
        return
    vote = "no vote" if state.voted_for is None else f"voted for {state.voted_for}"
    facts = {"term": state.term, "voted_for": state.voted_for}
    yield Dumped("quorum_state", f"term {state.term}, {vote}", facts, counts=True)


def _damage(why: str) -> Dumped:
    return Dumped("damage", why, {"why": why}, damage=True)
