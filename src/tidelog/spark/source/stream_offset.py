"""A streaming query's place in the log, as Spark keeps it in the checkpoint.

    {"events": {"0": 23, "1": 7}, "@topicIds": {"events": "…"}}

This is the form of Spark's own Kafka source, so a checkpoint of it can be taken over, with additions under
names that no topic can have. `@topicIds` tells a topic from another of the same name that was created later.
`@from`, in the end of a query's first batch, is where that batch began: Spark writes down only its end, and
`latest` would be another place when the batch is run again after a crash.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tidelog.blocking.cluster import NO_ID, TopicPartition

IDS, FROM, LAG = "@topicIds", "@from", "@lag"


@dataclass(frozen=True)
class StreamOffset:
    offsets: Mapping[TopicPartition, int]
    topic_ids: Mapping[str, bytes] = field(default_factory=dict)
    first: "StreamOffset | None" = None

    def to_json(self) -> dict[str, Any]:
        """Sorted, since Spark compares offsets by their text."""
        made: dict[str, Any] = {}
        ids = {topic: made_id.hex() for topic, made_id in sorted(self.topic_ids.items()) if made_id != NO_ID}
        if ids:
            made[IDS] = ids
        if self.first is not None:
            made[FROM] = self.first.to_json()
        for (topic, partition), offset in sorted(self.offsets.items()):
            made.setdefault(topic, {})[str(partition)] = offset
        return made

    @classmethod
    def from_json(cls, value: Mapping[str, Any] | str) -> "StreamOffset":
        read: Mapping[str, Any] = json.loads(value) if isinstance(value, str) else value
        ids = {topic: bytes.fromhex(text) for topic, text in read.get(IDS, {}).items()}
        first = cls.from_json(read[FROM]) if FROM in read else None
        offsets = {
            TopicPartition(topic, int(partition)): int(offset)
            for topic, partitions in read.items()
            if not topic.startswith("@")
            for partition, offset in partitions.items()
        }
        return cls(offsets, ids, first)

    def is_recreated(self, topic: str, now: "StreamOffset") -> bool:
        """Whether `now` speaks of another topic of that name."""
        before, after = self.topic_ids.get(topic), now.topic_ids.get(topic)
        return before is not None and after is not None and before != after
