"""Fetch: batches from the log to the socket untouched, now or once enough has arrived.

Consumers and follower brokers come in through the same door.
"""

import asyncio

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.context import Context, Services
from tidelog.broker.delayed_fetch import DelayedFetch
from tidelog.broker.fetch_sessions import FetchPlan, TopicKey, Wanted
from tidelog.replication.partition import Partition
from tidelog.wire.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)

READ_COMMITTED = 1
WAIT_MS_MAX = 5 * 60_000  # nobody needs to hold a request open for longer


def handle(context: Context, request: FetchRequest) -> "FetchResponse | asyncio.Future[FetchResponse]":
    try:
        plan = context.services.sessions.plan(request, context.version)
    except KafkaError as error:
        return FetchResponse(error_code=error.code)
    job = FetchJob(context.services, request, plan)
    answers = job.read()
    missing = request.min_bytes - job.bytes_read
    if missing <= 0 or job.must_answer or request.max_wait_ms <= 0 or not plan.wanted:
        return job.respond(answers)
    return DelayedFetch(
        job.partitions,
        missing,
        min(request.max_wait_ms, WAIT_MS_MAX),
        answer=lambda: job.respond(job.read()),
    ).future


class FetchJob:
    """One fetch request: may be read twice, once on arrival and once when its wait is over."""

    __slots__ = (
        "_bytes_max",
        "_plan",
        "_read_committed",
        "_services",
        "bytes_read",
        "must_answer",
        "partitions",
    )

    def __init__(self, services: Services, request: FetchRequest, plan: FetchPlan) -> None:
        self._services = services
        self._plan = plan
        self._bytes_max = min(request.max_bytes, services.config.int("fetch.max.bytes"))
        self._read_committed = request.isolation_level == READ_COMMITTED
        self.bytes_read = 0
        self.must_answer = False  # an error or a diverging log is told at once
        self.partitions: list[Partition] = []

    def read(self) -> list[tuple[Wanted, PartitionData]]:
        self.bytes_read = 0
        self.partitions = []
        return [(wanted, self._read_one(wanted)) for wanted in self._plan.wanted]

    def _read_one(self, wanted: Wanted) -> PartitionData:
        asked = wanted.request
        answer = PartitionData(partition_index=asked.partition, high_watermark=-1, records=b"")
        if self._read_committed:
            answer.aborted_transactions = []
        try:
            partition = self._services.partitions.find(wanted.topic, asked.partition)
            partition.check_epoch(asked.current_leader_epoch)
            self._fill(answer, partition, wanted)
            self.partitions.append(partition)
        except KafkaError as error:
            self.must_answer = True
            return PartitionData(
                partition_index=asked.partition,
                error_code=error.code,
                high_watermark=-1,
                aborted_transactions=[],
                records=b"",
            )
        return answer

    def _fill(self, answer: PartitionData, partition: Partition, wanted: Wanted) -> None:
        asked = wanted.request
        log = partition.log
        if asked.last_fetched_epoch >= 0:
            epoch, end = log.epoch_end(asked.last_fetched_epoch)
            if epoch < asked.last_fetched_epoch or end < asked.fetch_offset:
                answer.diverging_epoch = EpochEndOffset(epoch=epoch, end_offset=end)
                self.must_answer = True
        answer.high_watermark = partition.high_watermark
        answer.last_stable_offset = partition.last_stable_offset
        answer.log_start_offset = log.start
        if not log.start <= asked.fetch_offset <= log.end:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
        if answer.diverging_epoch is not None:
            return
        end = partition.last_stable_offset if self._read_committed else partition.high_watermark
        room = min(self._bytes_max - self.bytes_read, asked.partition_max_bytes)
        # The first batch is always returned, however large: else nobody would get past it.
        first = self.bytes_read == 0
        if asked.fetch_offset >= end or (room <= 0 and not first):
            return
        found = log.read(asked.fetch_offset, max(room, 0), end=end, min_one=first)
        if found is not None:
            answer.records = found.slice
            self.bytes_read += found.slice.length

    def respond(self, answers: list[tuple[Wanted, PartitionData]]) -> FetchResponse:
        topics: dict[TopicKey, FetchableTopicResponse] = {}
        for wanted, answer in self._plan.trim(answers):
            topic = topics.get(wanted.topic)
            if topic is None:
                topic = topics[wanted.topic] = _topic_answer(wanted.topic)
            topic.partitions.append(answer)
        return FetchResponse(session_id=self._plan.session_id, responses=list(topics.values()))


def _topic_answer(topic: TopicKey) -> FetchableTopicResponse:
    return (
        FetchableTopicResponse(topic=topic)
        if isinstance(topic, str)
        else FetchableTopicResponse(topic_id=topic)
    )
