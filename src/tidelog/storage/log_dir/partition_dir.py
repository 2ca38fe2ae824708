"""Partition directories: `topic-3`, and `topic-3.<unique>-delete` once the topic is deleted.

Each says in `partition.metadata` which topic it belongs to. Kafka reads two lines of that file, `version: 0`
and `topic_id: …`; a third one holds the CRC32C of what is above it. Files that Kafka wrote have none.
"""

import re
from typing import NamedTuple

from crc32c import crc32c

from tidelog.base.errors import StorageError
from tidelog.base.ids import Uuid, uuid_parse, uuid_text
from tidelog.base.ports import Disk, read_file
from tidelog.storage.file_names import PARTITION_METADATA

_PARTITION_DIR = re.compile(r"(?P<topic>[A-Za-z0-9._-]+)-(?P<partition>\d+)")
_DELETED_DIR = re.compile(r"(?P<topic>[A-Za-z0-9._-]+)-(?P<partition>\d+)\.[A-Za-z0-9_-]+-delete")
_FILE_NAME_MAX = 255
_CHECKSUM = "crc32c"


class PartitionDir(NamedTuple):
    path: str
    topic: str
    partition: int
    is_deleted: bool


def listing(disk: Disk, directory: str) -> list[PartitionDir]:
    found = []
    for name in disk.names(directory):
        deleted = _DELETED_DIR.fullmatch(name)
        match = deleted or _PARTITION_DIR.fullmatch(name)
        path = f"{directory}/{name}"
        if match and disk.is_dir(path):
            found.append(PartitionDir(path, match["topic"], int(match["partition"]), deleted is not None))
    return found


def deleted_name(topic: str, partition: int, unique: str) -> str:
    """Truncates a topic name that is as long as a file name may be: only the ending matters."""
    ending = f"-{partition}.{unique}-delete"
    return topic[: _FILE_NAME_MAX - len(ending)] + ending


def write_topic_id(disk: Disk, partition_dir: str, topic_id: Uuid) -> None:
    """Not synced: the first flush of the log does that."""
    path = f"{partition_dir}/{PARTITION_METADATA}"
    temporary = path + ".tmp"
    file = disk.open(temporary, create=True)
    try:
        file.truncate(0)
        content = f"version: 0\ntopic_id: {uuid_text(topic_id)}\n"
        file.write_at(0, [f"{content}{_CHECKSUM}: {crc32c(content.encode()):08x}\n".encode()])
    finally:
        file.close()
    disk.rename(temporary, path)


def read_topic_id(disk: Disk, partition_dir: str) -> Uuid | None:
    """Returns the topic id; None if the directory holds none."""
    path = f"{partition_dir}/{PARTITION_METADATA}"
    raw = read_file(disk, path)
    if not raw:
        return None
    try:
        content, found, checksum = raw.decode().partition(f"{_CHECKSUM}: ")
        if found and checksum != f"{crc32c(content.encode()):08x}\n":
            raise ValueError("its checksum does not fit its content")
        values = dict(line.split(": ", 1) for line in content.splitlines() if line)
        if values["version"] != "0" or values.keys() != {"version", "topic_id"}:
            raise ValueError(f"it holds {values}")
        return uuid_parse(values["topic_id"])
    except (ValueError, KeyError) as error:
        raise StorageError(f"{path} is damaged, it does not name a topic: {error}") from error
