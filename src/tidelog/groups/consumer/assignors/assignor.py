"""What an assignor is given and gives back.

`topics` holds exactly the topics with a subscriber. Each partition of each goes to one subscriber.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from tidelog.base.ids import Uuid
from tidelog.groups.record_formats.assignment import NOTHING, Assignment


class MemberSpec(NamedTuple):
    topics: frozenset[Uuid]
    """What it subscribes to, of the topics that exist."""
    target: Assignment = NOTHING
    """What the last target assignment gave it."""
    instance_id: str | None = None


Topics = Mapping[Uuid, int]
"""Topic id to number of partitions."""
Members = Mapping[str, MemberSpec]
Targets = dict[str, Assignment]
"""For every member."""

Assignor = Callable[[Topics, Members], Targets]


def grouped(partitions: Iterable[tuple[Uuid, int]]) -> Assignment:
    by_topic: dict[Uuid, list[int]] = {}
    for topic, partition in partitions:
        by_topic.setdefault(topic, []).append(partition)
    return {topic: frozenset(numbers) for topic, numbers in by_topic.items()}


class Unassigned:
    """The partitions that no member was given yet."""

    __slots__ = ("_left",)

    def __init__(self, topics: Topics) -> None:
        self._left = {topic: bytearray(b"\x01" * count) for topic, count in topics.items()}

    def take(self, topic: Uuid, partition: int) -> bool:
        """Whether this partition exists and was still to be had."""
        left = self._left.get(topic)
        if left is None or partition >= len(left) or not left[partition]:
            return False
        left[partition] = 0
        return True

    def rest(self) -> list[tuple[Uuid, int]]:
        return [
            (topic, partition)
            for topic, left in self._left.items()
            for partition, is_left in enumerate(left)
            if is_left
        ]
