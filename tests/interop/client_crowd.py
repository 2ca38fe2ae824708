"""Every client at once: each writes to a partition of its own, and each reads all of them, in its own group.

The first replica of all partitions is the same broker, and all groups hash to one partition of the offsets
topic: what happens to one broker happens to every client.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from tests.interop.all_drivers import CLIENTS
from tests.interop.driver import Place
from tests.interop.group_member import GroupMember, check_order, wait_until_read
from tests.interop.stream_writer import StreamWriter, wait_until_written

# Members that speak the new protocol, in which the broker assigns.
NEW_PROTOCOL = ("confluent", "java")
OFFSET_PARTITIONS = 4


def names_of_clients() -> list[str]:
    return [name for name, client in CLIENTS.items() if client.missing_tool is None]


class Crowd:
    def __init__(self, connect: Callable[[str], Any], topic: str) -> None:
        self.topic = topic
        self.writers: dict[str, StreamWriter] = {}
        self.readers: dict[str, GroupMember] = {}
        self.groups: dict[str, str] = {}
        group_ids = groups_of_one_coordinator(topic)
        for partition, name in enumerate(names_of_clients()):
            self.writers[name] = connect(name).start_writing(topic, partition)
            self._join(connect, name, name, next(group_ids), "range")
        for name in NEW_PROTOCOL:
            if name in self.writers:
                self._join(connect, f"{name} (new protocol)", name, next(group_ids), "broker:uniform")

    def _join(self, connect: Callable[[str], Any], who: str, client: str, group: str, assignor: str) -> None:
        self.groups[who] = group
        # Short: KafkaJS may come back under a new name, and its group waits for the old one that long.
        self.readers[who] = connect(client).join_group(
            group, self.topic, assignor=assignor, session_timeout_ms=8_000
        )

    @property
    def places(self) -> list[Place]:
        return [(self.topic, writer.partition) for writer in self.writers.values()]

    def goes_on(self, more: int = 4) -> None:
        """Everyone writes more, nothing fails, and everyone reads all of it in order."""
        wait_until_written(self.writers, more)
        self.check_writers()
        written = [
            (writer.partition, offset)
            for writer in self.writers.values()
            for offset in list(writer.offsets.values())
        ]
        for who, reader in self.readers.items():
            try:
                wait_until_read([reader], written)
            except AssertionError as failure:
                raise AssertionError(f"{who} stands still: {str(failure)[-1500:]}") from None

    def check_writers(self) -> None:
        for name, writer in self.writers.items():
            try:
                writer.check()
            except AssertionError as failure:
                raise AssertionError(f"{name} lost, doubled or swapped records: {failure}") from None

    def rereads(self) -> dict[str, int]:
        """How often each reader read a record again."""
        return {
            who: len(records) - len(set(records))
            for who, reader in self.readers.items()
            for records in [reader.look().records]
        }

    def finish(self) -> None:
        for writer in self.writers.values():
            writer.stop()
        self.check_writers()
        for reader in self.readers.values():
            reader.close()
        check_order(self.readers.values())

    def close(self) -> None:
        for writer in self.writers.values():
            writer.close()
        for reader in self.readers.values():
            reader.close()


def groups_of_one_coordinator(stem: str) -> Iterator[str]:
    """Names whose groups are all kept in partition 0 of the offsets topic."""
    for number in itertools.count():
        name = f"{stem}-group-{number}"
        if java_hash(name) % OFFSET_PARTITIONS == 0:
            yield name


def java_hash(text: str) -> int:
    """String.hashCode() without its sign, as the broker takes it to find a group's partition."""
    value = 0
    for letter in text:
        value = (31 * value + ord(letter)) & 0x7FFFFFFF
    return value
