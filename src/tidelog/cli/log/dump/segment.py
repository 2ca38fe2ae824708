"""A segment's batches and records, each with its verdict. Damage in the middle does not hide what follows."""

from collections.abc import Iterator
from typing import Any

from tidelog.base.errors import KafkaError
from tidelog.base.ports import File
from tidelog.cli.log.dump.metadata import dump_entry, is_entry
from tidelog.cli.log.dumped import Dumped, moment
from tidelog.cli.log.files import open_read_only
from tidelog.cli.records.format import json_bytes, visible
from tidelog.storage.segment.scan import Bad, Good, SegmentScan
from tidelog.wire.batch import BatchHeader
from tidelog.wire.compression import Codec
from tidelog.wire.record import ControlType, Record, read_control_record, read_records

LAYOUT = "{:>12}  {:>9}  {:>10}  {:>10}  {:>7}  {:<6}  {:<24}  {:>5}  {:<4}  {}"
HEADINGS = ("Position", "Bytes", "First", "Last", "Records", "Codec", "Newest", "Epoch", "CRC", "Notes")


def dump_segment(path: str, base: int, with_records: bool) -> Iterator[Dumped]:
    file = open_read_only(path)
    try:
        yield from _dump(file, base, with_records)
    finally:
        file.close()


def _dump(file: File, base: int, with_records: bool) -> Iterator[Dumped]:
    size = file.size()
    account = {"batches": 0, "records": 0, "damaged_regions": 0, "bytes": size}
    yield Dumped("heading", LAYOUT.format(*HEADINGS), {"base_offset": base, "bytes": size})
    for found in SegmentScan(file, base, size).run(0, base):
        if isinstance(found, Good):
            account["batches"] += 1
            account["records"] += found.header.record_count
            yield _batch(found)
            if with_records:
                for line in _records(file, found):
                    account["damaged_regions"] += line.damage
                    yield line
        elif found.zeros:
            yield _reserved(found)
        else:
            account["damaged_regions"] += 1
            yield _bad(found, size)
    yield _summary(account)


def _batch(found: Good) -> Dumped:
    header = found.header
    codec = _codec(header)
    notes = _notes(header)
    line = LAYOUT.format(
        found.position,
        header.size,
        header.base_offset,
        header.last_offset,
        header.record_count,
        codec,
        moment(header.max_timestamp),
        header.leader_epoch,
        "ok",
        ", ".join(notes),
    )
    facts = {
        "position": found.position,
        "size": header.size,
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "records": header.record_count,
        "codec": codec,
        "base_timestamp": header.base_timestamp,
        "max_timestamp": header.max_timestamp,
        "timestamp_type": "append" if header.is_log_append_time else "create",
        "leader_epoch": header.leader_epoch,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "transactional": header.is_transactional,
        "control": header.is_control,
        "delete_horizon": header.base_timestamp if header.has_delete_horizon else None,
        "crc": header.crc,
        "crc_ok": True,
    }
    return Dumped("batch", line.rstrip(), facts, counts=True)


def _codec(header: BatchHeader) -> str:
    known = next((codec for codec in Codec if codec == header.codec), None)
    return known.name.lower() if known is not None else f"?{header.codec}"


def _notes(header: BatchHeader) -> list[str]:
    notes = []
    if header.producer_id >= 0:
        notes.append(f"producer {header.producer_id}/{header.producer_epoch} seq {header.base_sequence}")
    if header.is_control:
        notes.append("control")
    if header.is_transactional:
        notes.append("transactional")
    if header.is_log_append_time:
        notes.append("append time")
    if header.has_delete_horizon:
        notes.append(f"tombstones go {moment(header.base_timestamp)}")
    return notes


def _records(file: File, found: Good) -> Iterator[Dumped]:
    header = found.header
    try:
        records = read_records(memoryview(file.read_at(found.position, header.size)))
    except KafkaError as error:
        yield Dumped(
            "damage",
            f"{'':>12}  the records cannot be read: {error.message}",
            {"position": found.position, "why": error.message},
            damage=True,
        )
        return
    for record in records:
        if is_entry(record):
            yield from dump_entry(record)
        else:
            yield _control(record) if header.is_control else _record(record)


def _record(record: Record) -> Dumped:
    headers = "".join(f"  {visible(name.encode())}={visible(value)}" for name, value in record.headers)
    content = f"{visible(record.key)}: {visible(record.value)}{headers}"
    shown = f"{record.offset:>24}  {moment(record.timestamp)}  {content}"
    return Dumped("record", shown, _record_facts(record))


def _control(record: Record) -> Dumped:
    try:
        control = read_control_record(record)
    except KafkaError as error:
        return Dumped("damage", f"{record.offset:>24}  {error.message}", {"why": error.message}, damage=True)
    name = next((kind.name for kind in ControlType if kind == control.type), str(control.type)).lower()
    shown = f"{record.offset:>24}  {moment(record.timestamp)}  control {name}"
    return Dumped("record", shown, _record_facts(record) | {"control": name})


def _record_facts(record: Record) -> dict[str, Any]:
    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": json_bytes(record.key),
        "value": json_bytes(record.value),
        "headers": [[name, json_bytes(value)] for name, value in record.headers],
    }


def _reserved(found: Bad) -> Dumped:
    length = found.end - found.position
    return Dumped(
        "reserved",
        f"{found.position:>12}  {length:>9}  reserved space, not written yet (zeros)",
        {"position": found.position, "size": length},
    )


def _bad(found: Bad, size: int) -> Dumped:
    length = found.end - found.position
    torn = found.end == size
    what = "torn tail, no valid batch follows" if torn else "DAMAGED, valid batches follow"
    return Dumped(
        "torn" if torn else "damage",
        f"{found.position:>12}  {length:>9}  {what}: {found.why}",
        {"position": found.position, "size": length, "why": found.why},
        damage=True,
    )


def _summary(account: dict[str, int]) -> Dumped:
    damaged = account["damaged_regions"]
    verdict = "all whole" if not damaged else f"{damaged} damaged region{'s' if damaged > 1 else ''}"
    counts = f"{account['batches']:,} batches, {account['records']:,} records, {account['bytes']:,} bytes"
    return Dumped("summary", f"{counts}: {verdict}", dict(account))
