"""The committed offsets of all groups of a shard. Changed by `put` and `remove` only, which replay calls."""

from collections.abc import Iterator

from tidelog.groups.record_formats.offset_commit import CommittedOffset

TopicOffsets = dict[int, CommittedOffset]
GroupOffsets = dict[str, TopicOffsets]


class OffsetStore:
    __slots__ = ("_by_group", "_count")

    def __init__(self) -> None:
        self._by_group: dict[str, GroupOffsets] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OffsetStore) and self._by_group == other._by_group

    __hash__ = None  # type: ignore[assignment]

    def put(self, group_id: str, topic: str, partition: int, committed: CommittedOffset) -> None:
        topics = self._by_group.get(group_id)
        if topics is None:
            topics = self._by_group[group_id] = {}
        partitions = topics.get(topic)
        if partitions is None:
            partitions = topics[topic] = {}
        self._count += partition not in partitions
        partitions[partition] = committed

    def remove(self, group_id: str, topic: str, partition: int) -> None:
        topics = self._by_group.get(group_id, {})
        partitions = topics.get(topic, {})
        if partitions.pop(partition, None) is None:
            return
        self._count -= 1
        if not partitions:
            del topics[topic]
            if not topics:
                del self._by_group[group_id]

    def get(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        return self._by_group.get(group_id, {}).get(topic, {}).get(partition)

    def of_group(self, group_id: str) -> GroupOffsets:
        """By topic and partition; to be read only."""
        return self._by_group.get(group_id, {})

    def group_ids(self) -> Iterator[str]:
        return iter(self._by_group)

    def partitions_of_topic(self, topic: str) -> list[tuple[str, int]]:
        """Group and partition of every offset committed for a topic."""
        return [
            (group_id, partition)
            for group_id, topics in self._by_group.items()
            for partition in topics.get(topic, ())
        ]
