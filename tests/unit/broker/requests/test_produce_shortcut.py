"""The short way must answer what the long way answers, byte for byte, and leave the same log behind."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from tests.rigs.log import NOW_MS, open_log
from tests.rigs.partition import sole_leader
from tests.rigs.quotas import client_quotas, pausing
from tests.rigs.virtual_time import run
from tidelog.base.errors import ErrorCode, KafkaError, ProtocolError
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.context import Context, Services
from tidelog.broker.requests.dispatch import Dispatcher
from tidelog.broker.requests.produce_shortcut import (
    FIRST_VERSION,
    FRONTS_MAX,
    ProduceShortcut,
)
from tidelog.broker.requests.routes import Routes
from tidelog.broker.security.authorizer import Authorizer
from tidelog.broker.security.client_quotas import ClientQuotas
from tidelog.metadata.image.security import SecurityImage
from tidelog.replication import refusals
from tidelog.replication.partition import Durability, Partition
from tidelog.security.acls.acl import WILDCARD, Acl
from tidelog.security.acls.vocabulary import Operation, PatternType, Permission, ResourceType
from tidelog.storage.log_config import LogConfig
from tidelog.storage.schema_checks import SchemaChecks, SubjectStrategy
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.apis import API, ApiKey
from tidelog.wire.frame import read_response, write_request
from tidelog.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.wire.record import Record, write_batch

TOPIC_ID = bytes(range(16))
TOPIC = SimpleNamespace(name="orders")
VERSIONS = range(API[ApiKey.PRODUCE].min_version, API[ApiKey.PRODUCE].max_version + 1)


class CountedShortcut(ProduceShortcut):
    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self.taken = 0

    def learn(self, frame: memoryview, context: Context, request: ProduceRequest) -> None:
        before = context.connection.fast_path
        super().learn(frame, context, request)
        inner = context.connection.fast_path
        if inner is None or inner is before:
            return

        def counted(frame: memoryview, client: ClientConnection) -> Any:
            reply = inner(frame, client)
            self.taken += reply is not None
            return reply

        context.connection.fast_path = counted


class Broker:
    """Two partitions in memory behind a dispatcher; it counts the requests that took the short way."""

    def __init__(
        self,
        throttle_ms: int = 0,
        config: LogConfig | None = None,
        durability: Durability = Durability.OS,
        throttle: ClientQuotas | None = None,
        authorizer: Authorizer | None = None,
    ) -> None:
        self.logs = [open_log(MemoryDisk(), config or LogConfig()) for _ in range(2)]
        self.by_key: dict[tuple[object, int], Partition] = {}
        self.refused: list[tuple[object, int]] = []
        for index, log in enumerate(self.logs):
            partition = sole_leader(
                log, topic_id=TOPIC_ID, index=index, durability=durability, on_unsynced=lambda _: None
            )
            self.by_key["orders", index] = self.by_key[TOPIC_ID, index] = partition
        services: Any = SimpleNamespace(
            clock=SimpleNamespace(now_ms=lambda: NOW_MS),
            partitions=SimpleNamespace(find=self._find, note_refused=self._note_refused),
            throttle=pausing(throttle_ms) if throttle_ms else throttle,
            inter_broker_listener="BROKERS",
            metadata=SimpleNamespace(image=SimpleNamespace(topic_by_id={TOPIC_ID: TOPIC}.get)),
            authorizer=authorizer,
            audit=None,
            denials={},
            count_error=self.count_error,
            written_by_brokers=frozenset({"__consumer_offsets"}),
            registry=None,
        )
        self.errors: list[int] = []
        self.shortcut = CountedShortcut(services)
        self.dispatcher = Dispatcher(services, Routes({ApiKey.PRODUCE: self.shortcut}))
        self.dispatcher.is_open = True

    def count_error(self, api_key: int, code: int) -> None:
        assert api_key == ApiKey.PRODUCE
        self.errors.append(code)

    @property
    def short(self) -> int:
        return self.shortcut.taken

    def _find(self, topic: object, index: int) -> Partition:
        if (topic, index) not in self.by_key:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return self.by_key[topic, index]

    def _note_refused(self, topic: object, index: int) -> None:
        self.refused.append((topic, index))

    def send(self, frame: bytes, client: ClientConnection) -> bytes:
        reply = self.dispatcher.dispatch(memoryview(bytearray(frame)), client)
        assert reply is not None
        return b"".join(reply.parts)  # type: ignore[union-attr, arg-type]


def client() -> ClientConnection:
    return ClientConnection("192.0.2.1", 5555, "PLAINTEXT")


def batch(value: bytes = b"x" * 300, count: int = 3, **options: int) -> bytes:
    return bytes(write_batch([Record(n, NOW_MS, b"k", value, []) for n in range(count)], **options))


def frame(records: bytes | None, version: int = 12, *, correlation_id: int = 7, **options: Any) -> bytes:
    indexes = options.get("indexes", (0,))
    data = [PartitionProduceData(index=i, records=records) for i in indexes]
    topic = TopicProduceData(
        name="orders" if version < 13 else "",
        topic_id=TOPIC_ID if version >= 13 else bytes(16),
        partition_data=data,
    )
    request = ProduceRequest(acks=options.get("acks", 1), timeout_ms=1000, topic_data=[topic])
    parts = write_request(ApiKey.PRODUCE, version, correlation_id, "app", request)
    return b"".join(parts)[4:] + options.get("after", b"")


def both_ways(first: bytes, second: bytes, **options: Any) -> tuple[bytes, bytes, Broker]:
    """The answers to `second` where `first` came on the same connection and where not; the former broker."""
    known, fresh = Broker(**options), Broker(**options)
    connection = client()
    known.send(first, connection)
    short = known.send(second, connection)
    fresh.send(first, client())
    long = fresh.send(second, client())
    assert fresh.short == 0
    assert [log.end for log in known.logs] == [log.end for log in fresh.logs]
    assert known.refused == fresh.refused
    return short, long, known


@pytest.mark.parametrize("acks", [1, -1])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_request_like_the_one_before(version: int, acks: int) -> None:
    first = frame(batch(), version, acks=acks)
    second = frame(batch(b"another value", count=9), version, correlation_id=-8, acks=acks)
    short, long, broker = both_ways(first, second)
    assert short == long
    assert broker.short == (version >= FIRST_VERSION)
    assert read_response(ApiKey.PRODUCE, version, short[4:])[0] == -8
    assert broker.logs[0].end == 12


async def late_answer(broker: Broker, asked: bytes, connection: ClientConnection, meanwhile: Any) -> bytes:
    """To a request whose records are not safe at once."""
    pending: Any = broker.dispatcher.dispatch(memoryview(bytearray(asked)), connection)
    assert not pending.done()
    meanwhile(broker.by_key["orders", 0])
    arrived = asyncio.Event()
    pending.add_done_callback(lambda _: arrived.set())
    await arrived.wait()
    return b"".join(pending.result().parts)


def synced(partition: Partition) -> None:
    flush = partition.log.begin_flush()
    assert flush is not None
    flush.run()
    partition.log.finish_flush(flush)
    partition.advance()


def deposed(partition: Partition) -> None:
    partition.release_all(refusals.not_leader(partition))


def left_alone(partition: Partition) -> None:
    """Until the request's time is up."""


@pytest.mark.parametrize("meanwhile", [synced, deposed, left_alone])
@pytest.mark.parametrize("version", [9, 12, 13])
def test_what_is_not_safe_yet_is_answered_alike_when_it_is_known(version: int, meanwhile: Any) -> None:
    async def main() -> None:
        asked = frame(batch(), version, acks=-1)
        answers = []
        for connections in ([client()] * 2, [client(), client()]):
            broker = Broker(durability=Durability.FSYNC, throttle_ms=250)
            await late_answer(broker, asked, connections[0], synced)
            answers.append(await late_answer(broker, asked, connections[1], meanwhile))
            assert broker.short == (connections[0] is connections[1])
            assert broker.logs[0].end == 6
        assert answers[0] == answers[1]
        _, answer = read_response(ApiKey.PRODUCE, version, answers[0][4:])
        assert (answer.responses[0].partition_responses[0].error_code == 0) == (meanwhile is synced)

    run(main())


@pytest.mark.parametrize("value_bytes", [0, 30, 60, 16_000, 16_300, 16_400, 900_000])
def test_lengths_of_every_size(value_bytes: int) -> None:
    short, long, broker = both_ways(frame(batch(b"")), frame(batch(bytes(value_bytes), count=1)))
    assert short == long
    assert broker.short == 1


def test_both_partitions_of_one_connection_are_remembered() -> None:
    broker, connection = Broker(), client()
    for index in (0, 1, 0, 1, 0):
        broker.send(frame(batch(), indexes=(index,)), connection)
    assert broker.short == 3
    assert [log.end for log in broker.logs] == [9, 6]


@pytest.mark.parametrize(
    "second",
    [
        frame(batch(), acks=-1),
        frame(batch(), acks=7),
        frame(batch(), indexes=(0, 1)),
        frame(batch(), after=b"left behind"),
        frame(batch())[:-1] + b"\1\5\3abc",
        frame(None),
        frame(batch(), version=11),
        frame(batch(), indexes=(5,)),
    ],
    ids=["all", "bad acks", "two partitions", "rest", "tags", "no records", "version", "unknown partition"],
)
def test_what_is_not_like_the_one_before_takes_the_long_way(second: bytes) -> None:
    short, long, broker = both_ways(frame(batch()), second)
    assert short == long
    assert broker.short == 0


@pytest.mark.parametrize("length", range(60))
def test_a_truncated_frame_is_refused_as_ever(length: int) -> None:
    outcomes = []
    for connection in (client(), client()):
        broker = Broker()
        broker.send(frame(batch()), connection if not outcomes else client())
        with pytest.raises(ProtocolError) as caught:
            broker.send(frame(batch())[:length], connection)
        outcomes.append((type(caught.value), str(caught.value)))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("place", [-3, -2, -1])
def test_tags_in_place_of_an_empty_section_do_not_hide_behind_records(place: int) -> None:
    """Each of the last three bytes is a count of tagged fields, whose bytes are missing here."""
    broker, connection = Broker(), client()
    broker.send(frame(batch()), connection)
    tagged = bytearray(frame(batch()))
    tagged[place] = 1
    with pytest.raises(ProtocolError):
        broker.send(bytes(tagged), connection)
    assert (broker.short, broker.logs[0].end) == (0, 3)


def _plain_partition() -> Any:
    return SimpleNamespace(log=SimpleNamespace(config=LogConfig()))


def test_a_request_with_a_transactional_id_is_not_remembered() -> None:
    topic = TopicProduceData(name="orders", partition_data=[PartitionProduceData(index=0, records=batch())])
    for transactional_id in ("billing-1", None):
        request = ProduceRequest(transactional_id=transactional_id, acks=1, timeout_ms=1, topic_data=[topic])
        parts = write_request(ApiKey.PRODUCE, 12, 7, "app", request)
        connection: Any = SimpleNamespace(fast_path=None)
        context: Any = SimpleNamespace(version=12, client_id="app", connection=connection)
        partitions = SimpleNamespace(find=lambda *_: _plain_partition())
        services: Any = SimpleNamespace(
            authorizer=None, written_by_brokers=frozenset(), partitions=partitions
        )
        ProduceShortcut(services).learn(memoryview(b"".join(parts)[4:]), context, request)
        assert (connection.fast_path is None) is (transactional_id is not None)


def test_refusals_are_worded_alike() -> None:
    damaged = bytearray(frame(batch()))
    damaged[-10] ^= 1
    short, long, broker = both_ways(frame(batch()), bytes(damaged))
    assert short == long
    assert broker.short == 1
    assert broker.refused == [("orders", 0)]
    _, answer = read_response(ApiKey.PRODUCE, 12, short[4:])
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.CORRUPT_MESSAGE


def test_a_gap_in_a_producers_sequence_is_refused_alike_with_log_append_time() -> None:
    def numbered(sequence: int) -> bytes:
        return frame(batch(producer_id=4, producer_epoch=0, base_sequence=sequence))

    short, long, broker = both_ways(numbered(0), numbered(50), config=LogConfig(log_append_time=True))
    assert short == long
    assert broker.short == 1
    _, answer = read_response(ApiKey.PRODUCE, 12, short[4:])
    code = answer.responses[0].partition_responses[0].error_code
    assert code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_retry_is_answered_with_its_old_offset() -> None:
    request = frame(batch(producer_id=4, producer_epoch=0, base_sequence=0))
    short, long, broker = both_ways(request, request)
    assert short == long
    assert broker.logs[0].end == 3


@pytest.mark.parametrize("version", [9, 12, 13])
def test_a_throttled_client_is_told(version: int) -> None:
    short, long, broker = both_ways(frame(batch(), version), frame(batch(), version), throttle_ms=250)
    assert short == long
    assert broker.short == 1
    assert read_response(ApiKey.PRODUCE, version, short[4:])[1].throttle_time_ms == 250


def test_both_ways_charge_the_bytes_of_the_request() -> None:
    asked = frame(batch())
    burst = 10.0 * len(asked) / 10  # the first request is free, the second is all too much
    connection, broker = client(), Broker(throttle=client_quotas(producer_byte_rate=burst / 10))
    pauses = [
        read_response(ApiKey.PRODUCE, 12, broker.send(asked, connection)[4:])[1].throttle_time_ms
        for _ in range(3)
    ]
    assert broker.short == 2
    assert pauses == [0, 10_000, 20_000]


def test_a_deleted_topic_is_missed() -> None:
    broker, connection = Broker(), client()
    broker.send(frame(batch()), connection)
    broker.by_key.clear()
    _, answer = read_response(ApiKey.PRODUCE, 12, broker.send(frame(batch()), connection)[4:])
    code = answer.responses[0].partition_responses[0].error_code
    assert code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert broker.short == 1
    assert broker.errors == [code]  # the long path counts where a route encodes


def test_what_is_remembered_is_bounded() -> None:
    broker, connection = Broker(), client()
    for timeout_ms in range(FRONTS_MAX + 10):
        data = [PartitionProduceData(index=0, records=batch(b"", count=1))]
        topics = [TopicProduceData(name="orders", partition_data=data)]
        request = ProduceRequest(acks=1, timeout_ms=timeout_ms, topic_data=topics)
        broker.send(b"".join(write_request(ApiKey.PRODUCE, 12, 1, "app", request))[4:], connection)
    assert broker.shortcut.remembered <= FRONTS_MAX


def authorized(*writers: str) -> Authorizer:
    authorizer = Authorizer()
    permit(authorizer, *writers)
    return authorizer


def permit(authorizer: Authorizer, *writers: str) -> None:
    acls = frozenset(
        Acl(
            ResourceType.TOPIC,
            PatternType.LITERAL,
            "orders",
            writer,
            WILDCARD,
            Operation.WRITE,
            Permission.ALLOW,
        )
        for writer in writers
    )
    image: Any = SimpleNamespace(security=SecurityImage(acls=acls))
    authorizer.follow(image)


def client_of(principal: str) -> ClientConnection:
    made = client()
    made.principal = principal
    return made


def error_of(answer: bytes, version: int) -> int:
    response = read_response(ApiKey.PRODUCE, version, memoryview(answer)[4:])[1]
    return int(response.responses[0].partition_responses[0].error_code)


@pytest.mark.parametrize("version", [12, 13])
def test_a_permitted_writer_takes_the_short_way(version: int) -> None:
    broker, alice = Broker(authorizer=authorized("User:alice")), client_of("User:alice")
    for _ in range(3):
        assert error_of(broker.send(frame(batch(), version), alice), version) == ErrorCode.NONE
    assert broker.short == 2


@pytest.mark.parametrize("version", [12, 13])
def test_a_front_of_another_principal_is_no_permission(version: int) -> None:
    broker, mallory = Broker(authorizer=authorized("User:alice")), client_of("User:mallory")
    alice = client_of("User:alice")
    broker.send(frame(batch(), version), alice)
    broker.send(frame(batch(), version), alice)
    for _ in range(3):
        assert (
            error_of(broker.send(frame(batch(), version), mallory), version)
            == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        )
    # Not even on a connection whose fast path was made for alice.
    alice.principal = "User:mallory"
    assert (
        error_of(broker.send(frame(batch(), version), alice), version) == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    )
    assert broker.short == 1
    assert broker.logs[0].end == 6


def test_a_revoked_permission_ends_with_the_next_request() -> None:
    authorizer = authorized("User:alice")
    broker, alice = Broker(authorizer=authorizer), client_of("User:alice")
    broker.send(frame(batch()), alice)
    broker.send(frame(batch()), alice)
    permit(authorizer)
    assert error_of(broker.send(frame(batch()), alice), 12) == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert broker.shortcut.remembered == 1, "the long way does not learn what is refused"
    permit(authorizer, "User:alice")
    for _ in range(2):
        assert error_of(broker.send(frame(batch()), alice), 12) == ErrorCode.NONE
    assert broker.short == 2


def test_what_is_remembered_of_many_principals_is_bounded() -> None:
    writers = [f"User:{number}" for number in range(FRONTS_MAX + 10)]
    broker = Broker(authorizer=authorized(*writers))
    for writer in writers:
        broker.send(frame(batch(b"", count=1)), client_of(writer))
    assert broker.shortcut.remembered <= FRONTS_MAX


def test_a_topic_whose_schemas_are_checked_takes_the_long_way() -> None:
    broker, connection = Broker(), client()
    broker.send(frame(batch()), connection)
    broker.send(frame(batch()), connection)
    assert (broker.short, broker.shortcut.remembered) == (1, 1)
    broker.logs[0].config = LogConfig(schema_checks=SchemaChecks(None, SubjectStrategy.TOPIC))
    for _ in range(2):
        _, answer = read_response(ApiKey.PRODUCE, 12, broker.send(frame(batch()), connection)[4:])
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.INVALID_RECORD
    assert broker.short == 1
    assert broker.logs[0].end == 6, "nothing of it was appended"
