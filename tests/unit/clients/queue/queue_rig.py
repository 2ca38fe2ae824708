"""A queue's core with brokers made of dicts: answers are written by hand, and the clock is a number."""

from collections.abc import Sequence

from tidelog.base.errors import ErrorCode
from tidelog.clients.queue.core import NextRequest, QueueCore
from tidelog.clients.queue.delivered import RecordReader
from tidelog.clients.queue.held import HeldJob
from tidelog.clients.queue.membership import SharedPartition
from tidelog.wire.messages import share_acknowledge, share_fetch
from tidelog.wire.messages.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from tidelog.wire.messages.share_fetch import ShareFetchRequest, ShareFetchResponse
from tidelog.wire.record import write_batch
from tidelog.wire.record_body import Record

TOPIC_ID = b"t" * 16
LOCK_MS = 30_000


class QueueRig:
    def __init__(
        self, *, prefetch: int = 10, leaders: dict[int, int] | None = None, extend_s: float = 1800.0
    ) -> None:
        leaders = leaders or {0: 1}
        self.now = 1000.0
        self.reader = RecordReader()
        self.core = QueueCore("jobs", "workers", prefetch=prefetch, linger_s=0.005, extend_s=extend_s)
        self.core.membership.assignment = frozenset(SharedPartition(TOPIC_ID, each) for each in leaders)
        self.core.stock.takers = prefetch
        self.core.lead(TOPIC_ID, leaders)
        for session in self.core.sessions.values():
            session.can_renew = session.can_delay = True

    def step(self, node: int = 1) -> NextRequest | float | None:
        return self.core.step(node, self.now)

    def fetch(self, node: int = 1) -> ShareFetchRequest:
        step = self.step(node)
        assert isinstance(step, NextRequest)
        assert isinstance(step.message, ShareFetchRequest)
        return step.message

    def acknowledge(self, node: int = 1) -> ShareAcknowledgeRequest:
        step = self.step(node)
        assert isinstance(step, NextRequest)
        assert isinstance(step.message, ShareAcknowledgeRequest)
        return step.message

    def deliver(
        self,
        offsets: Sequence[int],
        *,
        node: int = 1,
        partition: int = 0,
        count: int = 1,
        missing: Sequence[int] = (),
        ack_error: ErrorCode = ErrorCode.NONE,
        error: ErrorCode = ErrorCode.NONE,
    ) -> None:
        """Answer the fetch under way; `missing` offsets are locked and have no record."""
        records = [Record(offset, 5, None, b"%d" % offset) for offset in offsets if offset not in missing]
        data = share_fetch.PartitionData(
            partition_index=partition,
            error_code=error,
            acknowledge_error_code=ack_error,
            records=memoryview(write_batch(records, base_offset=records[0].offset)) if records else None,
            acquired_records=[
                share_fetch.AcquiredRecords(first_offset=each, last_offset=each, delivery_count=count)
                for each in offsets
            ],
        )
        topic = share_fetch.ShareFetchableTopicResponse(topic_id=TOPIC_ID, partitions=[data])
        answer = ShareFetchResponse(acquisition_lock_timeout_ms=LOCK_MS, responses=[topic])
        self.core.fetched(node, answer, self.reader.read(answer), self.now)

    def empty(self, node: int = 1, error: ErrorCode = ErrorCode.NONE) -> None:
        answer = ShareFetchResponse(error_code=error, acquisition_lock_timeout_ms=LOCK_MS)
        self.core.fetched(node, answer, self.reader.read(answer), self.now)

    def answer_acks(
        self, error: ErrorCode = ErrorCode.NONE, *, node: int = 1, partition: int = 0, whole: bool = False
    ) -> None:
        data = share_acknowledge.PartitionData(partition_index=partition, error_code=0 if whole else error)
        topic = share_acknowledge.ShareAcknowledgeTopicResponse(topic_id=TOPIC_ID, partitions=[data])
        answer = ShareAcknowledgeResponse(
            error_code=error if whole else 0, acquisition_lock_timeout_ms=LOCK_MS, responses=[topic]
        )
        self.core.acknowledged(node, answer, self.now)

    def take(self) -> HeldJob:
        job = self.core.stock.hand_out(self.now)
        assert job is not None
        return job

    def begun(self, offsets: Sequence[int]) -> list[HeldJob]:
        """Jobs that the application has."""
        self.fetch()
        self.deliver(offsets)
        return [self.take() for _ in offsets]


def batches(request: ShareFetchRequest | ShareAcknowledgeRequest) -> list[tuple[int, int, list[int], int]]:
    return [
        (batch.first_offset, batch.last_offset, batch.acknowledge_types, batch.delay_ms)
        for topic in request.topics
        for part in topic.partitions
        for batch in part.acknowledgement_batches
    ]
