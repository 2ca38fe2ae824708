"""Plans as JSON files, in the format of Kafka's own kafka-reassign-partitions tool."""

import json
from typing import Any

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.reassign.calls import Assignment
from tidelog.clients.records import TopicPartition

VERSION = 1


def as_file(assignment: Assignment) -> dict[str, Any]:
    return {
        "version": VERSION,
        "partitions": [
            {"topic": place.topic, "partition": place.partition, "replicas": list(replicas)}
            for place, replicas in sorted(assignment.items())
        ],
    }


def read_file(path: str) -> dict[TopicPartition, tuple[int, ...]]:
    try:
        with open(path, encoding="utf-8") as file:
            return parse(json.load(file))
    except OSError as error:
        raise CliError(f"Cannot read {path}: {error.strerror}.", code=Exit.NOT_FOUND) from error
    except (ValueError, UnicodeDecodeError) as error:
        raise CliError(
            f"{path} is not a plan: {error}.",
            attempt="tidelog topic reassign TOPIC --brokers 1,2,3 --dry-run --json, which prints one",
            code=Exit.USAGE,
        ) from error


def parse(document: object) -> dict[TopicPartition, tuple[int, ...]]:
    """ValueError says what is wrong, and where."""
    if not isinstance(document, dict) or not isinstance(document.get("partitions"), list):
        raise ValueError('an object with a list of "partitions" is wanted')
    if document.get("version", VERSION) != VERSION:
        raise ValueError(f"its version is {document['version']!r}, {VERSION} is wanted")
    plan: dict[TopicPartition, tuple[int, ...]] = {}
    for number, entry in enumerate(document["partitions"]):
        place, replicas = _entry(entry, f"entry {number}")
        if place in plan:
            raise ValueError(f"{place} is there twice")
        plan[place] = replicas
    if not plan:
        raise ValueError("it names no partition")
    return plan


def _entry(entry: object, where: str) -> tuple[TopicPartition, tuple[int, ...]]:
    if not isinstance(entry, dict):
        raise ValueError(f"{where} is no object")
    topic, partition, replicas = entry.get("topic"), entry.get("partition"), entry.get("replicas")
    if not isinstance(topic, str) or not topic:
        raise ValueError(f'{where} has no "topic"')
    if not isinstance(partition, int) or not _is_number(partition):
        raise ValueError(f'{where} has no "partition" that is a number')
    place = TopicPartition(topic, partition)
    if not isinstance(replicas, list) or not replicas or not all(map(_is_number, replicas)):
        raise ValueError(f'{place} has no list of broker numbers as "replicas"')
    if len(set(replicas)) < len(replicas):
        raise ValueError(f"{place} names a broker twice")
    log_dirs = entry.get("log_dirs", [])
    if not isinstance(log_dirs, list) or any(log_dir != "any" for log_dir in log_dirs):
        raise ValueError(f'{place} names log dirs; only "any" is possible here')
    return place, tuple(replicas)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
