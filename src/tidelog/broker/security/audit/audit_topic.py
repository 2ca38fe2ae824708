"""The audit topic: lines are sent to one of its leaders, several at once, until it acknowledges them."""

import logging
from collections.abc import Awaitable, Callable

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NodeId, TimestampMs
from tidelog.base.ports import Clock
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.peers.peers import Peers
from tidelog.broker.security.audit.audit import Backlog
from tidelog.metadata.image.entities import TopicImage
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from tidelog.wire.record import write_batch
from tidelog.wire.record_body import Record

BACKLOG_BYTES_MAX = 8 * 1024 * 1024
BATCH_BYTES_MAX = 256 * 1024
DROPPED_BYTES_MIN = 1024
"""A topic that does not take even a short line, such as that about dropped ones, takes none."""

SEND_SECONDS = 10.0
PRODUCE_BY_NAME = 12
ACKS_ALL = -1
_TOO_LARGE = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)

log = logging.getLogger("tidelog.broker.audit")


class AuditTopic:
    def __init__(
        self,
        name: str,
        metadata: MetadataService,
        peers: Peers,
        clock: Clock,
        *,
        create: Callable[[str], Awaitable[None]],
        line_of_dropped: Callable[[int], bytes],
    ) -> None:
        self._name = name
        self._metadata = metadata
        self._peers = peers
        self._clock = clock
        self._create = create
        self._backlog = Backlog(BACKLOG_BYTES_MAX, line_of_dropped)
        self._is_sending = False
        self._has_failed = False

    def write(self, line: bytes) -> None:
        self._backlog.add(line)

    @property
    def lost_lines(self) -> int:
        return self._backlog.lost_lines

    async def flush(self) -> None:
        """Send what waits; what cannot be sent now stays, and may have been written nevertheless."""
        if self._is_sending:
            return
        self._is_sending = True
        try:
            while self._backlog:
                lines = self._backlog.take()
                sent = 0
                try:
                    for batch in _in_batches(lines):
                        await self._send_or_split(batch)
                        sent += len(batch)
                finally:
                    self._backlog.give_back(lines[sent:])
            if self._has_failed:
                log.warning("the audit topic %s takes events again", self._name)
                self._has_failed = False
        except (OSError, KafkaError) as error:
            if not self._has_failed:
                log.error("the audit topic %s takes no events: %s; they wait in memory", self._name, error)
            self._has_failed = True
        finally:
            self._is_sending = False

    async def _send_or_split(self, lines: list[bytes]) -> None:
        """A line that is too large for the topic must not hold up all behind it for ever."""
        try:
            await self._send(lines)
        except KafkaError as error:
            if error.code not in _TOO_LARGE:
                raise
            if len(lines) == 1:
                if len(lines[0]) < DROPPED_BYTES_MIN:
                    raise
                self._backlog.lost(1)
                return
            middle = len(lines) // 2
            await self._send_or_split(lines[:middle])
            await self._send_or_split(lines[middle:])

    async def _send(self, lines: list[bytes]) -> None:
        topic = self._metadata.image.topics.get(self._name)
        if topic is None:
            await self._create(self._name)
            topic = self._metadata.image.topics.get(self._name)
        index, leader = _nearest_leader(topic, self._metadata.node_id)
        data = PartitionProduceData(index=index, records=_batch(lines, self._clock.now_ms()))
        request = ProduceRequest(
            acks=ACKS_ALL,
            timeout_ms=int(SEND_SECONDS * 1000),
            topic_data=[TopicProduceData(name=self._name, partition_data=[data])],
        )
        answer: ProduceResponse = await self._peers.call(
            leader, ApiKey.PRODUCE, PRODUCE_BY_NAME, request, timeout=SEND_SECONDS, lane="audit"
        )
        [[result]] = [topic.partition_responses for topic in answer.responses]
        if result.error_code:
            raise KafkaError(ErrorCode.of(result.error_code), result.error_message or "")


def _nearest_leader(topic: TopicImage | None, node_id: NodeId) -> tuple[int, NodeId]:
    """A partition that this broker leads, or else any with a leader."""
    led = [(part.index, part.leader) for part in topic.partitions if part.leader >= 0] if topic else []
    if not led:
        raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, "none of its partitions has a leader")
    return next((part for part in led if part[1] == node_id), led[node_id % len(led)])


def _batch(lines: list[bytes], now_ms: TimestampMs) -> memoryview:
    records = [Record(number, now_ms, None, line.rstrip(b"\n")) for number, line in enumerate(lines)]
    return memoryview(write_batch(records))


def _in_batches(lines: list[bytes]) -> list[list[bytes]]:
    batches: list[list[bytes]] = []
    size = BATCH_BYTES_MAX
    for line in lines:
        if size + len(line) > BATCH_BYTES_MAX:
            batches.append([])
            size = 0
        batches[-1].append(line)
        size += len(line)
    return batches
