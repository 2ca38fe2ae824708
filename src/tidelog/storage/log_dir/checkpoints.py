"""Kafka's offset checkpoints: a line `topic partition offset` for each partition of a log dir."""

from collections.abc import Mapping

from tidelog.base.errors import StorageError
from tidelog.base.ids import Offset
from tidelog.base.ports import Disk, read_file, replace_file
from tidelog.storage.log_dir import checkpoint_text

TopicPartition = tuple[str, int]


def read(disk: Disk, path: str) -> dict[TopicPartition, Offset]:
    """Empty where there is no file; StorageError where it is something else."""
    raw = read_file(disk, path)
    if raw is None:
        return {}
    try:
        found: dict[TopicPartition, Offset] = {}
        for line in checkpoint_text.load(raw):
            topic, partition, offset = line.split()
            found[topic, int(partition)] = int(offset)
    except ValueError as error:
        raise StorageError(f"{path} is damaged, or no checkpoint file: {error}") from error
    return found


def write(disk: Disk, path: str, offsets: Mapping[TopicPartition, Offset]) -> None:
    """Durable when this returns; a crash leaves the old file or the new one."""
    lines = [f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()]
    replace_file(disk, path, checkpoint_text.dump(lines))
