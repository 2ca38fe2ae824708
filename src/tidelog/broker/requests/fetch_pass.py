"""The read loop of every fetch, a consumer's or a follower's: partitions in turn, within limits of bytes."""

from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeVar

from tidelog.base.errors import KafkaError
from tidelog.base.ids import Offset
from tidelog.broker.requests.fetch_sessions import TopicKey
from tidelog.replication.partition import Partition
from tidelog.replication.read_limit import ReadLimit
from tidelog.replication.traffic import TopicTraffic
from tidelog.storage.log import LogRead
from tidelog.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    PartitionData,
)

WantedT = TypeVar("WantedT")


class FetchPass(Generic[WantedT]):
    """One pass over the partitions of a request; a fetch that waited makes a second one."""

    __slots__ = ("_bytes_max", "answers", "bytes_read", "limit", "must_answer", "reads")

    def __init__(self, bytes_max: int, limit: ReadLimit) -> None:
        """`limit`: up to where this reader may read each partition."""
        self._bytes_max = bytes_max
        self.limit = limit
        self.answers: list[tuple[WantedT, PartitionData]] = []
        self.bytes_read = 0
        self.reads: list[tuple[TopicTraffic, int]] = []
        """The bytes of each read, and where they count once they are sent: a pass may be made again."""
        self.must_answer = False
        """Something besides records, such as an error, is reported at once."""

    def run(
        self,
        wanted: Iterable[WantedT],
        read_one: "Callable[[WantedT, FetchPass[WantedT]], PartitionData | None]",
        refuse: Callable[[WantedT, KafkaError], PartitionData],
    ) -> None:
        """`read_one` looks at one partition, and calls `read`; None: there is nothing to answer."""
        answers = self.answers
        for one in wanted:
            try:
                answer = read_one(one, self)
            except KafkaError as error:
                self.must_answer = True
                answer = refuse(one, error)
            if answer is not None:
                answers.append((one, answer))

    def read(
        self, partition: Partition, asked: FetchPartition, end: Offset, answer: PartitionData
    ) -> LogRead | None:
        """Put the records from the asked offset up to `end` into the answer, as many as fit."""
        room = min(self._bytes_max - self.bytes_read, asked.partition_max_bytes)
        # The first batch is always returned, however large: else no reader would get past it.
        is_first = not self.bytes_read
        if asked.fetch_offset >= end or (room <= 0 and not is_first):
            return None
        read = partition.log.read(asked.fetch_offset, max(room, 0), end=end, min_one=is_first)
        if read is not None:
            answer.records = read.slice
            size = read.slice.length
            self.bytes_read += size
            self.reads.append((partition.traffic, size))
        return read


class OfTopic(Protocol):
    @property
    def topic(self) -> TopicKey: ...


def by_topic(answers: "Iterable[tuple[OfTopic, PartitionData]]") -> list[FetchableTopicResponse]:
    topics: dict[TopicKey, FetchableTopicResponse] = {}
    for wanted, answer in answers:
        key = wanted.topic
        topic = topics.get(key)
        if topic is None:
            if isinstance(key, str):
                topic = FetchableTopicResponse(topic=key)
            else:
                topic = FetchableTopicResponse(topic_id=key)
            topics[key] = topic
        topic.partitions.append(answer)
    return list(topics.values())
