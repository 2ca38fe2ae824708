"""A topic and a share group that works on it: its settings, its records and its members."""

from typing import Any

from tests.interop.driver import ConfigChange, Record
from tests.interop.shares.member import ShareMember, Where
from tests.interop.waiting import eventually


class Jobs:
    def __init__(self, java: Any, reference: Any, topic: str, group: str, partitions: int = 1) -> None:
        self.java, self.reference = java, reference
        self.topic, self.group, self.partitions = topic, group, partitions
        self.members: list[ShareMember] = []
        self.written: list[Where] = []
        self.configure(share_auto_offset_reset="earliest")

    def configure(self, **configs: object) -> None:
        """Sets configs of the group, with underscores for the dots of their names."""
        changes = [ConfigChange("set", name.replace("_", "."), str(value)) for name, value in configs.items()]
        self.java.alter_configs("group", self.group, changes)

    def fill(self, count: int, **options: Any) -> list[Where]:
        """Writes records round the partitions; the value of each is its offset."""
        added = [
            (self.topic, number % self.partitions, number // self.partitions)
            for number in range(len(self.written), len(self.written) + count)
        ]
        records = [Record(b"k", b"%d" % offset, partition=index) for _, index, offset in added]
        self.reference.produce(self.topic, records, **options)
        self.written += added
        return added

    def join(self, sharer: Any, **options: Any) -> ShareMember:
        self.members.append(sharer.join_share(self.group, self.topic, **options))
        return self.members[-1]

    def wait_until_done(self) -> None:
        """Until the group has nothing left to do. Its stored start may well be behind: that moves later."""
        places = {(self.topic, index) for index in range(self.partitions)}

        def is_done() -> bool:
            offsets = self.java.share_offsets(self.group)
            return offsets.keys() == places and all(one.lag == 0 for one in offsets.values())

        eventually(is_done)

    def close(self) -> None:
        for member in self.members:
            member.close()
