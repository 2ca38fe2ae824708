"""Kafka's text checkpoint files: one number for each partition of a data directory.

0                       version
2                       how many lines follow
orders 0 1204           topic, partition, offset
orders 1 977
"""

from collections.abc import Mapping

from tidelog.base.errors import StorageError
from tidelog.base.ids import Offset
from tidelog.base.ports import Disk, read_file, replace_file

TopicPartition = tuple[str, int]

_VERSION = "0"


def read(disk: Disk, path: str) -> dict[TopicPartition, Offset]:
    """Empty where there is no file; StorageError where it is something else."""
    raw = read_file(disk, path)
    if raw is None:
        return {}
    try:
        version, count, *lines = raw.decode().splitlines()
        found: dict[TopicPartition, Offset] = {}
        for line in lines:
            topic, partition, offset = line.split(" ")
            found[topic, int(partition)] = int(offset)
        if version != _VERSION or int(count) != len(lines):
            raise ValueError(f"version {version}, {count} lines announced, {len(lines)} found")
    except ValueError as error:
        raise StorageError(
            f"{path} is not a checkpoint file: {error}; remove it to have every partition checked"
        ) from error
    return found


def write(disk: Disk, path: str, offsets: Mapping[TopicPartition, Offset]) -> None:
    """Durable when this returns; a crash leaves the old file or the new one."""
    lines = [_VERSION, str(len(offsets))]
    lines += [f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()]
    replace_file(disk, path, ("\n".join(lines) + "\n").encode())
