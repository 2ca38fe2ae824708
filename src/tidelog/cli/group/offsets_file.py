"""Offsets of a group in a file: written by `reset-offsets --export`, read by `reset-offsets --from-file`.

CSV lines are `topic,partition,offset`, the form of Kafka's own tool; a first line with these words is
skipped. JSON is a list of objects with these names, or an object that holds the list as `partitions`.
"""

import csv
import io
import json
from collections.abc import Mapping
from typing import Any

from tidelog.cli.exits import CliError, Exit
from tidelog.clients.records import TopicPartition

COLUMNS = ("topic", "partition", "offset")
OFFSET_MAX = 2**63 - 1
PARTITION_MAX = 2**31 - 1


def to_csv(offsets: Mapping[TopicPartition, int]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        (place.topic, place.partition, offset) for place, offset in sorted(offsets.items())
    )
    return text.getvalue()


def to_json(offsets: Mapping[TopicPartition, int]) -> str:
    rows = [
        {"topic": place.topic, "partition": place.partition, "offset": offset}
        for place, offset in sorted(offsets.items())
    ]
    return json.dumps(rows, ensure_ascii=False, indent=2) + "\n"


def parse_offsets(text: str, name: str) -> dict[TopicPartition, int]:
    """The offsets in a file's text; `name` is for the errors."""
    rows = _json_rows(text, name) if text.lstrip()[:1] in ("[", "{") else _csv_rows(text, name)
    offsets: dict[TopicPartition, int] = {}
    for where, topic, partition, offset in rows:
        place = TopicPartition(
            _topic(topic, where), _number(partition, PARTITION_MAX, f"{where}: the partition")
        )
        if place in offsets:
            raise _refused(f"{where}: {place} comes twice.")
        offsets[place] = _number(offset, OFFSET_MAX, f"{where}: the offset")
    if not offsets:
        raise _refused(f"{name} holds no offsets.")
    return offsets


Row = tuple[str, Any, Any, Any]


def _csv_rows(text: str, name: str) -> list[Row]:
    rows: list[Row] = []
    reader = csv.reader(io.StringIO(text))
    for cells in reader:
        where = f"{name}, line {reader.line_num}"
        words = [cell.strip() for cell in cells]
        if not any(words) or (not rows and tuple(map(str.lower, words)) == COLUMNS):
            continue
        if len(words) != len(COLUMNS):
            raise _refused(f"{where}: {len(words)} columns where topic,partition,offset should be.")
        topic, partition, offset = words
        rows.append((where, topic, partition, offset))
    return rows


def _json_rows(text: str, name: str) -> list[Row]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise _refused(f"{name} is neither JSON nor CSV: {error}.") from error
    listed = value.get("partitions") if isinstance(value, dict) else value
    if not isinstance(listed, list):
        raise _refused(f"{name} holds no list of offsets.")
    rows: list[Row] = []
    for number, entry in enumerate(listed, start=1):
        where = f"{name}, entry {number}"
        if not isinstance(entry, dict) or not {"topic", "partition"} <= entry.keys():
            raise _refused(f"{where}: it should be an object with topic, partition and offset.")
        # What `--json` prints can be read as well, and there a partition may be left alone.
        offset = entry.get("offset", entry.get("new_offset"))
        if offset is None and "new_offset" in entry:
            continue
        rows.append((where, entry["topic"], entry["partition"], offset))
    return rows


def _topic(value: object, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise _refused(f"{where}: the topic is missing.")
    return value


def _number(value: object, maximum: int, what: str) -> int:
    text = str(value)
    is_number = text.isascii() and text.isdigit() and len(text) < 20  # int() refuses thousands of digits
    if isinstance(value, bool) or not is_number or int(text) > maximum:
        raise _refused(f"{what} is {value!r}, not a number from 0 to {maximum}.")
    return int(text)


def _refused(message: str) -> CliError:
    return CliError(
        message,
        attempt="tidelog group reset-offsets GROUP --to-current --all-topics --export FILE",
        code=Exit.USAGE,
    )
