"""The short path for the request that a broker gets most: for one partition, like the one before it.

Theory: when is a request "like the one before"?
================================================

Between the correlation id and the records a producer sends the same bytes again and again: client id, acks,
timeout, topic, partition. Decoding them, making objects and encoding an answer is half of what a broker
spends on a produce request. So after the long path has understood one request, its *front* is remembered,
with what it means and with its answer; the next request with the same front is neither decoded nor is its
answer encoded:

    api key, version | correlation id | front, compared | length of   | records | three empty tag sections
    i16, i16         | i32            | as a whole      | the records |         | one zero byte each

What can go wrong
-----------------
- *Equal bytes with another meaning.* The bytes are recognised, but an unusual request hides behind them: a
  second partition after the records, a tagged field, another version of the API.
- *A meaning that has expired.* The topic was deleted and made again, another broker leads, the quota is
  used up, the permission to write was revoked.
- *A permission of another.* A front that one user may send is known, and another user sends the same bytes.
- *Two paths that drift apart.* A check is added to one of them. The other then is a way around it.
- *Half of the work, twice.* The short path appends, finds something odd, and hands over to the long path,
  which appends again.
- *Memory.* A client invents a new front with each request.

The rule
--------
1. Only what the bytes mean is remembered, never what the cluster looked like: no partition object, no
   quota. All of these are looked up with each request, by the same calls as on the long path. With an
   authorizer each principal and host has fronts of its own, only those that it may send, and they hold for
   one version of the authorizer, which changes with every ACL: in another version they are forgotten.
2. A front is remembered only for a plain request: acks 1 or all, no transactional id, one topic, one
   partition.
3. A request matches if the front is equal byte by byte, the version is equal, and the rest is exactly a
   length, that many bytes of records, and three zero bytes. Everything else takes the long path.
4. All of that is decided before the first side effect. After it, the short path answers by itself, refusals
   too. A topic whose schemas are checked is not for the short path, since its batches may have to wait: the
   partition says so before it does anything, and the front is forgotten.
5. The tables have a limit, all together. When it is reached they are emptied, which costs the next request of
   each producer the long path.

Why this is enough
------------------
A Kafka message is parsed from left to right, and where a field ends depends on its own bytes and those
before it, never on what follows. So two frames of one API and version with equal bytes up to the records
parse to equal fields up to there, and the parser stands at the same place. What is left is compared as a
whole: with the arrays' counts of one in the front, the only thing that can follow the records are the tag
sections of partition, topic and request, and each of them is empty if it is one zero byte. A second
partition, a tagged field or trailing bytes cannot hide, because length and end must meet exactly at the end
of the frame. The records themselves are checked on both paths by the same call of the partition: CRC,
limits, sequence numbers, leadership, and that no transactional batch comes without a transactional id.

An example, version 12: a producer sends 100 bytes of records, then 9,000. Their length takes two bytes then
instead of one, but the length is not part of the front, so the second request matches the first. The producer
turns to another partition: one byte of the front differs, and the long path decodes the request and
remembers a second front.

What has to stay equal is compared by `tests/unit/broker/requests/test_produce_shortcut.py`: each case runs
on two brokers, one that knows the front and one that does not, and the answers must be equal byte by byte.
A check that is added to the long path must be added here, too, unless the partition makes it for both.
"""

from struct import Struct
from typing import cast

import msgspec

from tidelog.base.errors import KafkaError
from tidelog.base.ids import NO_TIMESTAMP, ZERO_UUID, Offset, TimestampMs
from tidelog.broker.handlers.records.appending import ACKS_ALL, refused
from tidelog.broker.handlers.records.permissions import name_of
from tidelog.broker.log_dirs.hosted import TopicKey
from tidelog.broker.native.plain_produce import Produce
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.context import Context, Services
from tidelog.broker.requests.delayed_produce import DelayedProduce, UncommittedAppend
from tidelog.broker.requests.reply import LateReply, PendingReply, Reply
from tidelog.broker.requests.throttle import charge_of
from tidelog.broker.security.authorizer import Authorizer
from tidelog.broker.security.request_charge import RequestCharge
from tidelog.replication.partition import Partition, Produced
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.storage.schema_checks import SchemasNotChecked
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
_OFFSETS = Struct(">qqq")  # base offset, append time, log start: neighbours in every version since 5
# Searched in an encoded response, to learn where the numbers of later responses go.
_MARKS = (0x7654321076543210, 0x6543210765432107, 0x5432107654321076)


class Front(msgspec.Struct, frozen=True, gc=False):
    """What a front means."""

    version: int
    client_id: str | None
    topic: TopicKey
    index: int
    all_replicas: bool
    timeout_ms: int
    answer: bytes
    """An encoded response; correlation id, offsets and throttle time are patched into copies of it."""
    offsets_at: int


Fronts = dict[bytes, Front]


class ProduceShortcut:
    """Learns fronts, and gives connections their fast path."""

    def __init__(self, services: Services, compiled: Produce | None = None) -> None:
        self._services = services
        self._compiled = compiled
        self._tables: dict[tuple[str, str] | None, Fronts] = {}
        """By principal and host; without an authorizer, one for all."""
        self._version = 0
        """Of the authorizer, to which the tables belong."""
        self.remembered = 0

    def learn(self, frame: memoryview, context: Context, request: ProduceRequest) -> None:
        """The long path handled this request: if it is a plain one, the next may take the short path."""
        version = context.version
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
        key: TopicKey = topic.topic_id if version >= FIRST_VERSION_BY_ID else topic.name
        if name_of(context, key) in self._services.written_by_brokers:
            return  # refused each time
        if self._checks_schemas(key, data.index):
            return  # may have to wait
        authorizer = self._services.authorizer
        if authorizer is not None and not _may_write(context, key):
            return
        base, time, start = _MARKS
        marked = PartitionProduceResponse(
            index=data.index, base_offset=base, log_append_time=time, log_start_offset=start
        )
        answer = bytes(_encoded(version, key, marked))
        front = Front(
            *(version, context.client_id, key, data.index, request.acks == ACKS_ALL, request.timeout_ms),
            answer,
            answer.index(_OFFSETS.pack(*_MARKS)),
        )
        fronts = self._fronts_of(context.connection)
        before = len(fronts)
        fronts[bytes(frame[FRONT_AT:front_end])] = front
        self.remembered += len(fronts) - before
        python = FrontMatcher(self._services, fronts, front_end)
        matcher: FrontMatcher | CompiledMatcher = python
        if self._compiled is not None:
            matcher = CompiledMatcher(self._compiled, self._services, fronts, front_end, python)
        if authorizer is None:
            context.connection.fast_path = matcher.answer
        else:
            context.connection.fast_path = PermittedMatcher(matcher, authorizer, context.connection).answer

    def _checks_schemas(self, key: TopicKey, index: int) -> bool:
        try:
            partition = self._services.partitions.find(key, index)
        except KafkaError:
            return False
        return partition.log.config.schema_checks is not None

    def _fronts_of(self, connection: ClientConnection) -> Fronts:
        authorizer, owner = self._services.authorizer, None
        if authorizer is not None:
            owner = connection.principal, connection.host
            if self._version != authorizer.version:
                self._version = authorizer.version
                self._forget()
        if self.remembered >= FRONTS_MAX:
            self._forget()
        return self._tables.setdefault(owner, {})

    def _forget(self) -> None:
        for fronts in self._tables.values():
            fronts.clear()  # connections hold on to it
        self._tables.clear()
        self.remembered = 0


def _may_write(context: Context, key: TopicKey) -> bool:
    name = name_of(context, key)
    return name is not None and context.may(Operation.WRITE, ResourceType.TOPIC, name)


class PermittedMatcher:
    """The fast path with an authorizer: its answer still holds, and it is about this principal."""

    __slots__ = ("_authorizer", "_matcher", "_principal", "_version")

    def __init__(
        self, matcher: "FrontMatcher | CompiledMatcher", authorizer: Authorizer, connection: ClientConnection
    ) -> None:
        self._matcher = matcher.answer
        self._authorizer = authorizer
        self._version = authorizer.version
        self._principal = connection.principal

    def answer(self, frame: memoryview, connection: ClientConnection) -> Reply | PendingReply | None:
        if self._authorizer.version != self._version or connection.principal != self._principal:
            return None
        return self._matcher(frame, connection)


class FrontMatcher:
    """The fast path of one connection: its requests have their records behind byte `front_end`."""

    __slots__ = ("_front_end", "_fronts", "_services")

    def __init__(self, services: Services, front: Fronts, front_end: int) -> None:
        self._services = services
        self._fronts = front
        self._front_end = front_end

    def answer(self, frame: memoryview, connection: ClientConnection) -> Reply | PendingReply | None:
        """Returns None for the long path; nothing has been done then."""
        front_end = self._front_end
        front = self._fronts.get(bytes(frame[FRONT_AT:front_end]))
        size = len(frame)
        if front is None or size < front_end + FRONT_AT:
            return None
        api_key, version, correlation_id = _START.unpack_from(frame)
        if api_key != PRODUCE or version != front.version:
            return None
        length, start = read_uvarint(frame, front_end)
        stop = start + length - 1
        if stop + TAIL_BYTES != size or stop < start or frame[stop] or frame[stop + 1] or frame[stop + 2]:
            return None
        services = self._services
        charge = None
        if services.throttle is not None:
            charge = charge_of(
                services, connection, front.client_id, api_key, version=version, request_bytes=size
            )
        log_start = -1
        try:
            partition = services.partitions.find(front.topic, front.index)
            log_start = partition.log.start
            produced = partition.produce(
                frame[start:stop], all_replicas=front.all_replicas, now_ms=services.clock.now_ms()
            )
        except SchemasNotChecked:
            self._fronts.pop(bytes(frame[FRONT_AT:front_end]), None)
            return None  # nothing has been done; the long path does not remember the front again
        except KafkaError as error:
            services.partitions.note_refused(front.topic, front.index)
            out = _refusal(services, front, refused(front.index, error, log_start))
            return _sent(out, correlation_id, charge)
        if front.all_replicas and produced.committed_at > partition.high_watermark:
            if charge is not None:
                charge.rest()
            answer, delayed = _waiting(front, partition, produced, log_start)
            return LateReply(
                delayed.future,
                lambda _: _sent_late(_filled_late(services, front, answer), correlation_id, charge),
            )
        out = _filled(front, produced.base_offset, produced.append_time_ms, log_start)
        return _sent(out, correlation_id, charge)


class CompiledMatcher:
    """The same fast path in C, for plain requests; the others are left to Python."""

    __slots__ = ("_front_end", "_fronts", "_other", "_produce", "_services")

    def __init__(
        self, produce: Produce, services: Services, fronts: Fronts, front_end: int, other: FrontMatcher
    ) -> None:
        self._produce = produce
        self._services = services
        self._fronts = fronts
        self._front_end = front_end
        self._other = other.answer

    def answer(self, frame: memoryview, connection: ClientConnection) -> Reply | PendingReply | None:
        done = self._produce(self._services, self._fronts, self._front_end, frame)
        if done is None:
            return self._other(frame, connection)
        if type(done) is not tuple:
            return cast(Reply, done)
        front, partition, correlation_id, base, end, log_start = done
        services = self._services
        answer, delayed = _waiting(front, partition, Produced(base, NO_TIMESTAMP, end), log_start)
        return LateReply(
            delayed.future, lambda _: _sent_late(_filled_late(services, front, answer), correlation_id, None)
        )


def _waiting(
    front: Front, partition: Partition, produced: Produced, log_start: Offset
) -> tuple[PartitionProduceResponse, DelayedProduce]:
    """The answer to a batch that is not committed yet, and what waits for that."""
    answer = PartitionProduceResponse(
        index=front.index,
        base_offset=produced.base_offset,
        log_append_time=produced.append_time_ms,
        log_start_offset=log_start,
    )
    uncommitted = [UncommittedAppend(partition, produced.committed_at, answer)]
    return answer, DelayedProduce(ProduceResponse(), uncommitted, front.timeout_ms)


def _filled(front: Front, base: Offset, append_time: TimestampMs, log_start: Offset) -> bytearray:
    out = bytearray(front.answer)
    _OFFSETS.pack_into(out, front.offsets_at, base, append_time, log_start)
    return out


def _filled_late(services: Services, front: Front, answer: PartitionProduceResponse) -> bytearray:
    """The append may have failed before it was committed."""
    if answer.error_code:
        return _refusal(services, front, answer)
    return _filled(front, answer.base_offset, answer.log_append_time, answer.log_start_offset)


def _refusal(services: Services, front: Front, answer: PartitionProduceResponse) -> bytearray:
    """The route's own writer, which counts errors where they are counted, is on the long path only."""
    if services.count_error is not None:
        services.count_error(PRODUCE, answer.error_code)
    return _encoded(front.version, front.topic, answer)


def _sent_late(out: bytearray, correlation_id: int, charge: RequestCharge | None) -> Reply:
    if charge is not None:
        charge.resume()
    return _sent(out, correlation_id, charge)


def _sent(out: bytearray, correlation_id: int, charge: RequestCharge | None) -> Reply:
    _INT.pack_into(out, CORRELATION_ID_AT, correlation_id)
    throttle_ms = 0 if charge is None else charge.end()
    if throttle_ms:
        _INT.pack_into(out, len(out) - THROTTLE_BEFORE_END, throttle_ms)
    return Reply([out], throttle_ms)


def _encoded(version: int, topic: TopicKey, answer: PartitionProduceResponse) -> bytearray:
    name, id = (topic, ZERO_UUID) if isinstance(topic, str) else ("", topic)
    topics = [TopicProduceResponse(name=name, topic_id=id, partition_responses=[answer])]
    [out] = response_writer(PRODUCE, version)(0, ProduceResponse(responses=topics))
    return bytearray(out)  # type: ignore[arg-type]  # an answer to Produce has no file slices
