"""Where logs begin, end, or reach a time, asked of their leaders: ListOffsets, a request per broker."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.blocking.cluster import Cluster, TopicPartition
from tidelog.blocking.errors import NoSuchTopic
from tidelog.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

EARLIEST, LATEST = -2, -1
"""In place of a time: where the log begins, and where it ends."""
CONSUMER = -1
NEWEST_WITHOUT_EFFECT = 9
"""Later versions only add what tiered storage needs."""
GONE_AFTER_S = 2.0
"""How long a topic must be unknown to be gone: a broker that just started may not know it yet."""


class LogBounds:
    def __init__(
        self, cluster: Cluster, *, read_committed: bool, now: Callable[[], float] = time.monotonic
    ) -> None:
        """With `read_committed` a log ends where its first open transaction begins."""
        self._cluster, self._now = cluster, now
        self._isolation = 1 if read_committed else 0

    def earliest(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self.at_times(dict.fromkeys(partitions, EARLIEST))

    def latest(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self.at_times(dict.fromkeys(partitions, LATEST))

    def at_times(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """The offset of the first record of that time or later (-1 where there is none); EARLIEST and LATEST
        are times too. Keeps what succeeded and asks again for the rest; NoSuchTopic where one is gone."""
        if not times:
            return {}
        found: dict[TopicPartition, int] = {}
        give_up_at = self._now() + GONE_AFTER_S
        names = ", ".join(sorted({partition.topic for partition in times}))

        def ask() -> dict[TopicPartition, int]:
            missing = {partition: time for partition, time in times.items() if partition not in found}
            try:
                self._ask_leaders(missing, found)
            except KafkaError as error:
                if error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and self._now() >= give_up_at:
                    raise NoSuchTopic(error.message) from error
                raise
            return found

        return self._cluster.attempts(f"offsets of {names}").run(ask)

    def _ask_leaders(self, times: Mapping[TopicPartition, int], found: dict[TopicPartition, int]) -> None:
        by_leader: dict[int, list[TopicPartition]] = defaultdict(list)
        for partition in times:
            by_leader[self._cluster.leader(partition)].append(partition)
        failure: KafkaError | None = None
        for leader, partitions in by_leader.items():
            answer: ListOffsetsResponse = self._cluster.call_node(
                leader, self._question(partitions, times), at_most=NEWEST_WITHOUT_EFFECT
            )
            for topic in answer.topics:
                for each in topic.partitions:
                    partition = TopicPartition(topic.name, each.partition_index)
                    if each.error_code:
                        failure = KafkaError(ErrorCode.of(each.error_code), f"offset of {partition}")
                    else:
                        found[partition] = each.offset
        if failure is not None:
            raise failure

    def _question(
        self, partitions: list[TopicPartition], times: Mapping[TopicPartition, int]
    ) -> ListOffsetsRequest:
        topics: dict[str, list[ListOffsetsPartition]] = defaultdict(list)
        for partition in partitions:
            topics[partition.topic].append(
                ListOffsetsPartition(partition_index=partition.partition, timestamp=times[partition])
            )
        return ListOffsetsRequest(
            replica_id=CONSUMER,
            isolation_level=self._isolation,
            topics=[ListOffsetsTopic(name=name, partitions=parts) for name, parts in topics.items()],
        )
