"""A cluster of logs in memory that answers what the source asks: metadata, ListOffsets and Fetch.

It takes the place of `tidelog.blocking.cluster.Cluster`: no socket is needed, its topics can be deleted,
cut and created again between two calls. `trouble` holds errors to raise or codes to answer, one per fetch.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.blocking.attempts import Attempts, Limits
from tidelog.blocking.cluster import Topic, TopicPartition
from tidelog.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from tidelog.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tidelog.wire.record import Record, write_batch


class Clock:
    """Time that passes only where somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@dataclass
class Log:
    start: int = 0
    batches: list[tuple[int, bytes]] = field(default_factory=list)
    """Next offset, bytes."""
    times: list[tuple[int, int]] = field(default_factory=list)
    """(timestamp, offset)"""
    end: int = 0

    def append(self, count: int, *, timestamp: int = 1_000) -> None:
        records = [
            Record(self.end + index, timestamp, b"k", b"%d" % (self.end + index), [])
            for index in range(count)
        ]
        self.times.append((timestamp, self.end))
        batch = write_batch(records, base_offset=self.end)
        self.end += count
        self.batches.append((self.end, bytes(batch)))


class FakeBrokers:
    def __init__(self) -> None:
        self.logs: dict[str, dict[int, Log]] = {}
        self.ids: dict[str, bytes] = {}
        self.trouble: deque[Exception | ErrorCode] = deque()
        self.fetches: list[FetchRequest] = []
        self.closed = 0
        self.clock = Clock()
        self._waiting: deque[FetchRequest] = deque()

    def create(self, name: str, partitions: int = 1) -> None:
        self.ids[name] = bytes([len(self.ids) + 1 + sum(map(sum, self.ids.values())) % 200]) * 16
        self.logs[name] = {index: Log() for index in range(partitions)}

    def delete(self, name: str) -> None:
        del self.logs[name]

    # What Cluster offers

    def topics(self, names: Iterable[str] | None = None) -> dict[str, Topic]:
        wanted = self.logs if names is None else names
        return {
            name: Topic(name, self.ids[name], dict.fromkeys(self.logs[name], 1))
            for name in wanted
            if name in self.logs
        }

    def leader(self, partition: TopicPartition) -> int:
        if partition.partition not in self.logs.get(partition.topic, {}):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {partition}")
        return 1

    def attempts(self, what: str) -> Attempts:
        return Attempts(what, Limits(), now=self.clock, sleep=self._sleep)

    def call_node(self, node: int, message: Any, **_: Any) -> Any:
        assert isinstance(message, ListOffsetsRequest)
        answer = ListOffsetsResponse()
        for topic in message.topics:
            parts = []
            for asked in topic.partitions:
                log = self.logs[topic.name][asked.partition_index]
                later = [offset for time, offset in log.times if time >= asked.timestamp]
                offset = {-1: log.end, -2: log.start}.get(asked.timestamp, later[0] if later else -1)
                parts.append(
                    ListOffsetsPartitionResponse(partition_index=asked.partition_index, offset=offset)
                )
            answer.topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=parts))
        return answer

    def connection(self, node: int) -> "FakeBrokers":
        return self

    def _sleep(self, seconds: float) -> None:
        self.clock.sleep(seconds)  # looked up late, so that a test can put another in its place

    # What Connection offers

    def send(self, request: FetchRequest, at_most: int | None = None) -> None:
        self.fetches.append(request)
        self._waiting.append(request)

    def receive(self) -> FetchResponse:
        request = self._waiting.popleft()
        code = ErrorCode.NONE
        if self.trouble:
            trouble = self.trouble.popleft()
            if isinstance(trouble, Exception):
                self._waiting.clear()
                raise trouble
            code = trouble
        answer = FetchResponse()
        for topic in request.topics:
            parts = [self._read(topic.topic_id, asked, code) for asked in topic.partitions]
            answer.responses.append(FetchableTopicResponse(topic_id=topic.topic_id, partitions=parts))
        return answer

    def close(self) -> None:
        self.closed += 1
        self._waiting.clear()

    def _read(self, topic_id: bytes, asked: Any, code: ErrorCode) -> PartitionData:
        answer = PartitionData(partition_index=asked.partition, error_code=code)
        name = next(
            (name for name, known in self.ids.items() if known == topic_id and name in self.logs), None
        )
        if name is None:
            answer.error_code = ErrorCode.UNKNOWN_TOPIC_ID
        if answer.error_code:
            return answer
        log = self.logs[str(name)][asked.partition]
        answer.high_watermark = answer.last_stable_offset = log.end
        answer.log_start_offset = log.start
        if not log.start <= asked.fetch_offset <= log.end:
            answer.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
            return answer
        # One batch at a time, so that a range takes several answers.
        answer.records = next((data for stop, data in log.batches if stop > asked.fetch_offset), b"")
        return answer
