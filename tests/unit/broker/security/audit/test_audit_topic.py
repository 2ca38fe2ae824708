"""The audit topic takes what it can: a line that is too large for it does not hold up the others."""

from types import SimpleNamespace
from typing import Any

from tests.rigs.virtual_time import run
from tidelog.base.errors import ErrorCode
from tidelog.broker.security.audit.audit_topic import DROPPED_BYTES_MIN, AuditTopic
from tidelog.metadata.image.entities import PartitionImage, TopicImage
from tidelog.metadata.image.image import ClusterImage
from tidelog.wire.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from tidelog.wire.record import read_records

TOPIC = TopicImage("__audit", bytes(16), (PartitionImage(0, (1,), (1,), 1),))


class Leader:
    """Refuses batches that are larger than the topic allows."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.lines: list[bytes] = []

    async def call(self, leader: int, api_key: int, version: int, request: Any, **_: Any) -> ProduceResponse:
        [[data]] = [topic.partition_data for topic in request.topic_data]
        code = ErrorCode.MESSAGE_TOO_LARGE if len(data.records) > self.bytes_max else ErrorCode.NONE
        if not code:
            self.lines += [bytes(record.value) for record in read_records(data.records)]
        results = [PartitionProduceResponse(index=0, error_code=code)]
        return ProduceResponse(responses=[TopicProduceResponse(partition_responses=results)])


def topic_of(leader: Leader) -> AuditTopic:
    metadata = SimpleNamespace(image=ClusterImage(topics={"__audit": TOPIC}), node_id=1)
    clock = SimpleNamespace(now_ms=lambda: 0)

    async def create(name: str) -> None:
        raise AssertionError(name)

    return AuditTopic(
        "__audit",
        metadata,  # type: ignore[arg-type]
        leader,  # type: ignore[arg-type]
        clock,  # type: ignore[arg-type]
        create=create,
        line_of_dropped=lambda count: b"%d dropped" % count,
    )


def test_a_line_that_is_too_large_is_dropped_and_counted() -> None:
    leader = Leader(DROPPED_BYTES_MIN)
    topic = topic_of(leader)
    for line in (b"one", b"x" * 2 * DROPPED_BYTES_MIN, b"two", b"three"):
        topic.write(line)
    run(topic.flush())
    assert leader.lines == [b"one", b"two", b"three", b"1 dropped"]


def test_a_topic_that_takes_nothing_gets_it_later() -> None:
    leader = Leader(1)
    topic = topic_of(leader)
    topic.write(b"one")
    run(topic.flush())
    assert leader.lines == []
    leader.bytes_max = 1_000
    run(topic.flush())
    assert leader.lines == [b"one"]
