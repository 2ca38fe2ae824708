"""Every batch is written once and in order, whatever happens to requests and answers."""

from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.blocking.attempts import Attempts, Limits
from tidelog.blocking.cluster import TopicPartition
from tidelog.blocking.errors import Disconnected, GaveUp
from tidelog.blocking.producer import Outgoing, Producer
from tidelog.blocking.producer_identity import ProducerIdentity
from tidelog.wire.batch import read_header
from tidelog.wire.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from tidelog.wire.record import Record, write_batch

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
FAULTS = ("fine", "request lost", "answer lost", "not leader", "timed out", "moved")


class Brokers:
    """Two leaders that keep sequence numbers as a broker does, and go wrong as the script says."""

    def __init__(self, script: list[str]) -> None:
        self.script = deque(script)
        self.logs: dict[TopicPartition, list[int]] = {P0: [], P1: []}
        self.moved = 0

    def handle(self, message: Any) -> tuple[str, ProduceResponse]:
        fault = self.script.popleft() if self.script else "fine"
        if fault == "moved":
            self.moved += 1
        topics = []
        for topic in message.topic_data:
            parts = []
            for part in topic.partition_data:
                code = self.append(TopicPartition(topic.name, part.index), part, fault)
                parts.append(PartitionProduceResponse(index=part.index, error_code=code))
            topics.append(TopicProduceResponse(name=topic.name, partition_responses=parts))
        return fault, ProduceResponse(responses=topics)

    def append(self, partition: TopicPartition, part: Any, fault: str) -> int:
        if fault in ("request lost", "not leader", "moved"):
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        log, header = self.logs[partition], read_header(part.records)
        if header.base_sequence > len(log):
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        if header.base_sequence == len(log):
            log.extend(range(header.base_sequence, header.base_sequence + header.record_count))
        return ErrorCode.REQUEST_TIMED_OUT if fault == "timed out" else ErrorCode.NONE


class Line:
    def __init__(self, brokers: Brokers) -> None:
        self.brokers, self.answers = brokers, deque[ProduceResponse | None]()
        self.is_closed = False

    def send(self, message: Any, *, at_most: int) -> None:
        if self.is_closed:
            raise Disconnected("closed")
        fault, answer = self.brokers.handle(message)
        self.answers.append(None if fault in ("request lost", "answer lost") else answer)

    def receive(self) -> ProduceResponse:
        answer = None if self.is_closed else self.answers.popleft()
        if answer is None:
            self.is_closed = True
            raise Disconnected("no answer")
        return answer


class Cluster:
    def __init__(self, brokers: Brokers, limits: Limits) -> None:
        self.brokers, self.limits, self.now = brokers, limits, 0.0
        self.lines: dict[int, Line] = {}

    def leader(self, partition: TopicPartition) -> int:
        return (partition.partition + self.brokers.moved) % 2

    def connection(self, node: int) -> Line:
        if node not in self.lines or self.lines[node].is_closed:
            self.lines[node] = Line(self.brokers)
        return self.lines[node]

    def forget(self, *_: str) -> None: ...

    def feature(self, _: str) -> int:
        return 2

    def attempts(self, what: str, limits: Limits) -> Attempts:
        return Attempts(what, limits, now=lambda: self.now, sleep=self.sleep)

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def written(script: list[str], sizes: list[tuple[int, int]], total_s: float = 1000.0) -> Brokers:
    """Sends rounds of batches, so many records to each partition."""
    brokers = Brokers(script)
    limits = Limits(total_s=total_s)
    producer = Producer(Cluster(brokers, limits), ProducerIdentity(7, 0), limits)  # type: ignore[arg-type]
    make: Callable[[TopicPartition, int], Outgoing] = lambda partition, count: Outgoing(  # noqa: E731
        partition,
        write_batch(
            [Record(number, 0, None, b"") for number in range(count)],
            producer_id=7,
            producer_epoch=0,
            base_sequence=producer.reserve(partition, count),
        ),
    )
    for first, second in sizes:
        producer.send([make(partition, count) for partition, count in ((P0, first), (P1, second)) if count])
    producer.flush()
    return brokers


SIZES = [(2, 1), (1, 0), (3, 3), (0, 2), (1, 1), (2, 2), (1, 4)]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("at", range(8))
def test_one_fault_anywhere(fault: str, at: int) -> None:
    brokers = written(["fine"] * at + [fault], SIZES)
    assert brokers.logs == {P0: list(range(10)), P1: list(range(13))}


@settings(max_examples=150)
@given(st.lists(st.sampled_from(FAULTS), max_size=40))
def test_many_faults(script: list[str]) -> None:
    assert written(script, SIZES).logs == {P0: list(range(10)), P1: list(range(13))}


def test_it_gives_up_when_the_time_for_a_delivery_is_over() -> None:
    with pytest.raises(GaveUp, match="no success within 5 s"):
        written(["not leader"] * 1000, SIZES, total_s=5.0)


def test_what_cannot_pass_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Brokers, "append", lambda *_: ErrorCode.PRODUCER_FENCED)
    with pytest.raises(KafkaError, match=r"t-0: .*Another attempt of this task"):
        written([], [(1, 0)])
    monkeypatch.setattr(Brokers, "append", lambda *_: ErrorCode.MESSAGE_TOO_LARGE)
    with pytest.raises(KafkaError, match=r"kafka\.batch\.size"):
        written([], [(1, 0)])
