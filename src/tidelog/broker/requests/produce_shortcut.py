"""The short way for the request that a broker gets most: for one partition, like the one before it.

Between the correlation id and the records a producer sends the same bytes again and again. What they mean
is remembered after the long way has understood them once, so that the next such request is neither decoded
nor is its answer encoded: half of what a broker spends on one. Everything unusual takes the long way.

    key, version i16 | correlation id i32 | front, compared as a whole | records | three empty tag sections
"""

from struct import Struct

import msgspec

from tidelog.base.errors import KafkaError
from tidelog.base.ids import ZERO_UUID, Offset, TimestampMs
from tidelog.broker.handlers.records.produce import ACKS_ALL, refused
from tidelog.broker.log_dirs.hosted import TopicKey
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.context import Services
from tidelog.broker.requests.delayed_produce import DelayedProduce, Written
from tidelog.broker.requests.reply import LateReply, PendingReply, Reply
from tidelog.wire.apis import ApiKey
from tidelog.wire.frame import response_writer
from tidelog.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from tidelog.wire.primitives import read_uvarint

PRODUCE = int(ApiKey.PRODUCE)
ACKS_LEADER = 1
FIRST_VERSION = 9  # the first with compact lengths
FIRST_VERSION_BY_ID = 13
FRONT_AT = 8
FRONT_BYTES_MAX = 512
FRONTS_MAX = 4096
TAIL_BYTES = 3
CORRELATION_ID_AT = 4  # of an answer
THROTTLE_BEFORE_END = 5  # a number and the last tag section

_START = Struct(">hhi")
_INT = Struct(">i")
_WRITTEN = Struct(">qqq")  # base offset, append time, log start: neighbours in every version since 5
# Found again in an encoded answer to learn where the numbers of the next answer go.
_MARKS = (0x7654321076543210, 0x6543210765432107, 0x5432107654321076)


class Known(msgspec.Struct, frozen=True, gc=False):
    """What a front means."""

    version: int
    client_id: str | None
    topic: TopicKey
    index: int
    all_replicas: bool
    timeout_ms: int
    answer: bytes
    """With a place for what differs."""
    written_at: int


class ProduceShortcut:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._known: dict[bytes, Known] = {}

    def learn(
        self,
        frame: memoryview,
        version: int,
        client_id: str | None,
        request: ProduceRequest,
        connection: ClientConnection,
    ) -> None:
        """The long way answered this request: if it is a plain one, the next may take the short way."""
        if (
            request.acks not in (ACKS_LEADER, ACKS_ALL)
            or version < FIRST_VERSION
            or request.transactional_id is not None
        ):
            return
        if len(request.topic_data) != 1 or len(request.topic_data[0].partition_data) != 1:
            return
        topic = request.topic_data[0]
        data = topic.partition_data[0]
        if data.records is None:
            return
        length = len(data.records) + 1
        front_end = len(frame) - TAIL_BYTES - len(data.records) - max(1, -(-length.bit_length() // 7))
        if front_end > FRONT_BYTES_MAX or read_uvarint(frame, front_end)[0] != length:
            return
        if len(self._known) >= FRONTS_MAX:
            self._known.clear()
        key: TopicKey = topic.topic_id if version >= FIRST_VERSION_BY_ID else topic.name
        base, time, start = _MARKS
        marked = PartitionProduceResponse(
            index=data.index, base_offset=base, log_append_time=time, log_start_offset=start
        )
        answer = bytes(_encoded(version, key, marked))
        known = Known(
            *(version, client_id, key, data.index, request.acks == ACKS_ALL, request.timeout_ms),
            answer,
            answer.index(_WRITTEN.pack(*_MARKS)),
        )
        self._known[bytes(frame[FRONT_AT:front_end])] = known
        connection.produce_front_end = front_end

    def answer(self, frame: memoryview, connection: ClientConnection) -> Reply | PendingReply | None:
        """None: take the long way; nothing has been done."""
        front_end = connection.produce_front_end
        known = self._known.get(bytes(frame[FRONT_AT:front_end]))
        size = len(frame)
        if known is None or size < front_end + FRONT_AT:
            return None
        api_key, version, correlation_id = _START.unpack_from(frame)
        if api_key != PRODUCE or version != known.version:
            return None
        length, start = read_uvarint(frame, front_end)
        stop = start + length - 1
        if stop + TAIL_BYTES != size or stop < start or frame[stop] or frame[stop + 1] or frame[stop + 2]:
            return None
        services = self._services
        throttle_ms = services.throttle.charge(connection, known.client_id, api_key, size)
        log_start = -1
        try:
            partition = services.partitions.find(known.topic, known.index)
            log_start = partition.log.start
            produced = partition.produce(
                frame[start:stop], all_replicas=known.all_replicas, now_ms=services.clock.now_ms()
            )
        except KafkaError as error:
            out = _encoded(version, known.topic, refused(known.index, error, log_start))
            return _sent(out, correlation_id, throttle_ms)
        if known.all_replicas and produced.committed_at > partition.high_watermark:
            answer = PartitionProduceResponse(
                index=known.index,
                base_offset=produced.base_offset,
                log_append_time=produced.append_time_ms,
                log_start_offset=log_start,
            )
            unsafe = [Written(partition, produced.committed_at, answer)]
            delayed = DelayedProduce(ProduceResponse(), unsafe, known.timeout_ms)
            return LateReply(
                delayed.future, lambda _: _sent(_filled_late(known, answer), correlation_id, throttle_ms)
            )
        out = _filled(known, produced.base_offset, produced.append_time_ms, log_start)
        return _sent(out, correlation_id, throttle_ms)


def _filled(known: Known, base: Offset, append_time: TimestampMs, log_start: Offset) -> bytearray:
    out = bytearray(known.answer)
    _WRITTEN.pack_into(out, known.written_at, base, append_time, log_start)
    return out


def _filled_late(known: Known, answer: PartitionProduceResponse) -> bytearray:
    """Until it was safe, it may have gone wrong."""
    if answer.error_code:
        return _encoded(known.version, known.topic, answer)
    return _filled(known, answer.base_offset, answer.log_append_time, answer.log_start_offset)


def _sent(out: bytearray, correlation_id: int, throttle_ms: int) -> Reply:
    _INT.pack_into(out, CORRELATION_ID_AT, correlation_id)
    if throttle_ms:
        _INT.pack_into(out, len(out) - THROTTLE_BEFORE_END, throttle_ms)
    return Reply([out], throttle_ms)


def _encoded(version: int, topic: TopicKey, answer: PartitionProduceResponse) -> bytearray:
    name, id = (topic, ZERO_UUID) if isinstance(topic, str) else ("", topic)
    topics = [TopicProduceResponse(name=name, topic_id=id, partition_responses=[answer])]
    [out] = response_writer(PRODUCE, version)(0, ProduceResponse(responses=topics))
    return bytearray(out)  # type: ignore[arg-type]  # an answer to Produce has no file slices
