"""Clients that ignore every pause, against a real broker: they get no more than their quota."""

import select
import socket
import threading
import time
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from tests.faults.raw_client import RawClient
from tidelog.base.errors import ErrorCode
from tidelog.server.free_ports import free_ports
from tidelog.testing import Broker, Cluster
from tidelog.wire.apis import API, ApiKey
from tidelog.wire.frame import read_response, write_request
from tidelog.wire.message import Message
from tidelog.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from tidelog.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tidelog.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tidelog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tidelog.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.wire.record import Record, write_batch

pytestmark = pytest.mark.usefixtures("no_failures")

RATE = 200_000
VALUE = b"v" * 20_000
LATEST = -1
NUMBERS = count(1)


class Client(RawClient):
    """One that says who it is, and reads `throttle_time_ms` only to forget it."""

    def __init__(self, port: int, client_id: str) -> None:
        super().__init__(port)
        self.client_id = client_id

    def send_request(self, key: int, version: int, message: Message) -> int:
        number = next(NUMBERS)
        parts = write_request(key, version, number, self.client_id, message)
        self.send(b"".join(bytes(part) for part in parts))  # type: ignore[arg-type]
        return number


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """Two windows instead of eleven: a burst is what a second allows."""
    settings = {
        "quota.window.num": 2,
        "controller.quota.window.num": 1,
        "listeners": "CLIENTS://127.0.0.1:0,BROKERS://127.0.0.1:0",
        "inter.broker.listener.name": "BROKERS",
    }
    with Broker(settings=settings) as running, Client(running.port, "setup") as client:
        client.ask(ApiKey.CREATE_TOPICS, CreateTopicsRequest(topics=[topic("orders"), topic("zero")]))
        yield running


def topic(name: str, partitions: int = 1) -> CreatableTopic:
    return CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)


def limit(broker: Broker, kind: str, name: str, **limits: float | None) -> None:
    entry = AlterClientQuotasRequestEntryData(
        entity=[EntityData(entity_type=kind, entity_name=name)],
        ops=[OpData(key=key, value=value or 0.0, remove=value is None) for key, value in limits.items()],
    )
    with Client(broker.port, "setup") as client:
        response = client.ask(ApiKey.ALTER_CLIENT_QUOTAS, AlterClientQuotasRequest(entries=[entry]))
    assert [answer.error_code for answer in response.entries] == [0]


def produce(name: str, acks: int = 1) -> ProduceRequest:
    batch = bytes(write_batch([Record(0, 1, None, VALUE, [])]))
    data = TopicProduceData(name=name, partition_data=[PartitionProduceData(records=batch)])
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[data])


def end_of(broker: Broker, name: str) -> int:
    asked = ListOffsetsPartition(timestamp=LATEST, current_leader_epoch=-1)
    request = ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name=name, partitions=[asked])], timeout_ms=1000
    )
    with Client(broker.port, "setup") as client:
        response = client.ask(ApiKey.LIST_OFFSETS, request)
    offset: int = response.topics[0].partitions[0].offset
    return offset


def flood(client: Client, request: Message, seconds: float) -> None:
    """Send request after request, without a look at the responses."""
    frame = b"".join(bytes(part) for part in write_request(ApiKey.PRODUCE, 12, 1, client.client_id, request))
    client.socket.settimeout(0.05)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            client.socket.sendall(frame)
        except TimeoutError:
            return  # the broker has stopped reading, and half a frame was sent


@pytest.mark.parametrize("acks", [1, 0])
def test_a_producer_that_ignores_pauses_gains_nothing(broker: Broker, acks: int) -> None:
    name = "orders" if acks else "zero"
    limit(broker, "client-id", f"flood-{acks}", producer_byte_rate=RATE)
    before, begin = end_of(broker, name), time.monotonic()
    with Client(broker.port, f"flood-{acks}") as client:
        flood(client, produce(name, acks), 3)
        time.sleep(max(0.0, begin + 3 - time.monotonic()))
        written = (end_of(broker, name) - before) * len(VALUE)
    seconds = time.monotonic() - begin
    assert RATE * 0.3 * seconds < written < RATE * (seconds + 1) * 1.25


def test_the_pause_is_announced_and_made(broker: Broker) -> None:
    limit(broker, "client-id", "told", producer_byte_rate=len(VALUE))
    with Client(broker.port, "told") as client:
        pauses = [ask(client, produce("orders")).throttle_time_ms for _ in range(2)]
        begin = time.monotonic()
        client.ask(ApiKey.METADATA, MetadataRequest(topics=[]))
        assert 500 < pauses[1] < 1500
        assert time.monotonic() - begin > pauses[1] / 1000 - 0.1


def ask(client: Client, request: ProduceRequest) -> Any:
    number = client.send_request(ApiKey.PRODUCE, 12, request)
    answered, response = read_response(ApiKey.PRODUCE, 12, client.receive())
    assert answered == number
    return response


def test_a_changed_quota_holds_for_the_next_request_of_an_open_connection(broker: Broker) -> None:
    with Client(broker.port, "changing") as client:
        assert ask(client, produce("orders")).throttle_time_ms == 0
        limit(broker, "client-id", "changing", producer_byte_rate=len(VALUE) * 2)
        pauses = [ask(client, produce("orders")).throttle_time_ms for _ in range(3)]
        assert pauses[0] == 0
        assert pauses[2] > 0
        limit(broker, "client-id", "changing", producer_byte_rate=None)
        assert ask(client, produce("orders")).throttle_time_ms == 0


def fetch(offset: int) -> FetchRequest:
    asked = FetchPartition(fetch_offset=offset, partition_max_bytes=1 << 20, current_leader_epoch=-1)
    return FetchRequest(
        max_wait_ms=100,
        min_bytes=1,
        session_epoch=-1,
        topics=[FetchTopic(topic="orders", partitions=[asked])],
    )


def test_a_consumer_gets_its_rate_and_a_response_without_records_beyond_it(broker: Broker) -> None:
    with Client(broker.port, "setup") as client:
        while end_of(broker, "orders") < 50:
            ask(client, produce("orders"))
    limit(broker, "client-id", "reader", consumer_byte_rate=RATE)
    begin, received, empty = time.monotonic(), 0, 0
    with Client(broker.port, "reader") as client:
        while time.monotonic() < begin + 3:
            response = client.ask(ApiKey.FETCH, fetch(0), 12)
            size = sum(len(data.records) for each in response.responses for data in each.partitions)
            received += size
            if not size:
                empty += 1
                assert response.throttle_time_ms > 0
                assert response.responses == []
    seconds = time.monotonic() - begin
    assert empty
    assert RATE * 0.3 * seconds < received < RATE * (seconds + 1) * 1.25


def test_request_time_is_limited(broker: Broker) -> None:
    limit(broker, "client-id", "busy", request_percentage=1.0)
    answered, pauses = 0, 0
    begin = time.monotonic()
    with Client(broker.port, "busy") as client:
        while time.monotonic() < begin + 2:
            pauses += client.ask(ApiKey.METADATA, MetadataRequest(topics=None), 12).throttle_time_ms > 0
            answered += 1
    assert pauses
    assert answered < 2000  # without a quota it is ten times as many


def create(client: Client, name: str, partitions: int, version: int) -> Any:
    request = CreateTopicsRequest(topics=[topic(name, partitions)], timeout_ms=1000)
    return client.ask(ApiKey.CREATE_TOPICS, request, version)


def assert_pauses(client: Client, throttle_ms: int) -> None:
    begin = time.monotonic()
    client.ask(ApiKey.METADATA, MetadataRequest(topics=[]))
    assert time.monotonic() - begin > throttle_ms / 1000 - 0.1


def test_a_client_that_creates_too_much_is_refused(broker: Broker) -> None:
    limit(broker, "client-id", "creator", controller_mutation_rate=10)
    with Client(broker.port, "creator") as client:
        assert create(client, "big", 20, 7).topics[0].error_code == 0
        refused = create(client, "more", 1, 7)
        assert refused.topics[0].error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
        assert 0 < refused.throttle_time_ms <= 1000
        assert_pauses(client, refused.throttle_time_ms)
        assert create(client, "more", 1, 7).topics[0].error_code == 0


def test_an_old_client_that_creates_too_much_pauses(broker: Broker) -> None:
    limit(broker, "client-id", "old creator", controller_mutation_rate=10)
    with Client(broker.port, "old creator") as client:
        created = create(client, "old", 20, 5)
        assert created.topics[0].error_code == 0
        assert 0 < created.throttle_time_ms <= 1000
        assert_pauses(client, created.throttle_time_ms)


def test_topics_that_a_look_at_them_creates_count_as_well(broker: Broker) -> None:
    limit(broker, "client-id", "looker", controller_mutation_rate=5)
    with Client(broker.port, "looker") as client:
        names = [MetadataRequestTopic(name=f"seen-{number}") for number in range(8)]
        response = client.ask(ApiKey.METADATA, MetadataRequest(topics=names, allow_auto_topic_creation=True))
        assert 400 < response.throttle_time_ms <= 600
        assert [topic.error_code for topic in response.topics] == [0] * 8


def test_the_pause_of_the_controller_is_made_by_the_broker_that_was_asked() -> None:
    settings = {"controller.quota.window.num": 1, "auto.create.topics.enable": False}
    with Cluster(brokers=2, settings=settings) as cluster:
        [other] = [each for each in cluster.brokers.values() if not each.is_controller]
        limit(other, "client-id", "creator", controller_mutation_rate=10)
        with Client(other.port, "creator") as client:
            responses = [
                client.ask(
                    ApiKey.CREATE_TOPICS, CreateTopicsRequest(topics=[topic(name, 20)], timeout_ms=5000)
                )
                for name in ("first", "second")
            ]
            codes = [response.topics[0].error_code for response in responses]
            assert codes == [0, ErrorCode.THROTTLING_QUOTA_EXCEEDED]
            pause = responses[1].throttle_time_ms / 1000
            begin = time.monotonic()
            client.ask(ApiKey.METADATA, MetadataRequest(topics=[]))
            assert 0 < pause - 0.1 < time.monotonic() - begin


def test_an_address_that_connects_in_a_loop_is_slowed_down_and_others_go_on(broker: Broker) -> None:
    limit(broker, "ip", "127.0.0.2", connection_creation_rate=5)
    attempts, stop = 0, threading.Event()

    def hammer() -> None:
        nonlocal attempts
        while not stop.is_set():
            where = ("127.0.0.1", broker.port)
            with socket.create_connection(where, timeout=10, source_address=("127.0.0.2", 0)) as sock:
                attempts += 1
                sock.settimeout(0.5)
                try:
                    sock.sendall(b"\x00\x00\x00\x0a\x00\x12\x00\x00\x00\x00\x00\x01\x00\x00")  # ApiVersions
                    sock.recv(4)
                except OSError:
                    continue

    hammering = threading.Thread(target=hammer)
    begin = time.monotonic()
    hammering.start()
    try:
        served = 0
        while time.monotonic() < begin + 3:
            with Client(broker.port, "patient") as client:
                client.ask(ApiKey.METADATA, MetadataRequest(topics=[]))
                served += 1
    finally:
        stop.set()
        hammering.join()
    assert attempts < 80  # the burst, then a pause for each
    assert served > 50
    limit(broker, "ip", "127.0.0.2", connection_creation_rate=None)


def test_brokers_get_in_where_clients_have_taken_every_connection() -> None:
    ports = free_ports("127.0.0.1", 2)
    settings = {
        "listeners": f"CLIENTS://127.0.0.1:{ports[0]},BROKERS://127.0.0.1:{ports[1]}",
        "inter.broker.listener.name": "BROKERS",
        "max.connections": 3,
    }
    with Broker(settings=settings):
        clients = [Client(ports[0], f"client-{number}") for number in range(3)]
        for client in clients:
            client.ask(ApiKey.API_VERSIONS, API[ApiKey.API_VERSIONS].request_class()(), 2)
        with Client(ports[0], "one too many") as late:
            assert late.is_closed()
        with Client(ports[1], "broker") as other:
            other.ask(ApiKey.API_VERSIONS, API[ApiKey.API_VERSIONS].request_class()(), 2)
        readable, _, _ = select.select([client.socket for client in clients], [], [], 10)
        assert [sock.recv(1) for sock in readable] == [b""]
        for client in clients:
            client.socket.close()
