"""The first group and the first transaction of a fresh broker: nobody is told to come back later."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import Consumer, Producer

from tests.faults.group_calls import join
from tests.faults.raw_client import RawClient
from tidelog.base.errors import ErrorCode
from tidelog.testing import Broker
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tidelog.wire.messages.find_coordinator import FindCoordinatorRequest
from tidelog.wire.messages.init_producer_id import InitProducerIdRequest
from tidelog.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tidelog.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    Subtopology,
    Topology,
)

pytestmark = pytest.mark.usefixtures("no_failures")

CLIENTS = 6
GROUP, TRANSACTION = 0, 1


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(settings={"durability": "fsync"}) as running:
        yield running


def join_error(client: RawClient, name: str) -> int:
    return int(join(client, name, version=3).error_code)


def heartbeat_error(client: RawClient, name: str) -> int:
    request = ConsumerGroupHeartbeatRequest(
        group_id=name,
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=5000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    return int(client.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, request).error_code)


def streams_error(client: RawClient, name: str) -> int:
    request = StreamsGroupHeartbeatRequest(
        group_id=name,
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=5000,
        topology=Topology(epoch=0, subtopologies=[Subtopology("0", ["t"])]),
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
        process_id="p",
    )
    return int(client.ask(ApiKey.STREAMS_GROUP_HEARTBEAT, request).error_code)


def offset_fetch_error(client: RawClient, name: str) -> int:
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=name, topics=None)])
    [group] = client.ask(ApiKey.OFFSET_FETCH, request).groups
    return int(group.error_code)


def init_error(client: RawClient, name: str) -> int:
    request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=1000)
    return int(client.ask(ApiKey.INIT_PRODUCER_ID, request).error_code)


@pytest.mark.parametrize(
    ("kind", "begin"),
    [
        (GROUP, join_error),
        (GROUP, heartbeat_error),
        (GROUP, streams_error),
        (GROUP, offset_fetch_error),
        (TRANSACTION, init_error),
    ],
)
def test_whoever_finds_its_coordinator_is_served(
    broker: Broker, kind: int, begin: Callable[[RawClient, str], int]
) -> None:
    def converse(number: int) -> list[ErrorCode]:
        name = f"first-{number}"
        with RawClient(broker.port) as client:
            time.sleep(number * 0.005)  # some come while the topic is being made
            asked = FindCoordinatorRequest(key_type=kind, coordinator_keys=[name])
            [found] = client.ask(ApiKey.FIND_COORDINATOR, asked).coordinators
            return [ErrorCode(found.error_code), ErrorCode(begin(client, name))]

    with ThreadPoolExecutor(CLIENTS) as threads:
        assert list(threads.map(converse, range(CLIENTS))) == [[ErrorCode.NONE] * 2] * CLIENTS


def test_librdkafka_gets_its_first_record_and_its_first_transaction_soon(broker: Broker) -> None:
    where = {"bootstrap.servers": broker.bootstrap_servers}
    producer = Producer(where)
    producer.produce("t", b"v")
    producer.flush(10)
    consumer = Consumer(where | {"group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe(["t"])
    began = time.monotonic()
    message = consumer.poll(10)
    waited = time.monotonic() - began
    assert message is not None
    assert message.value() == b"v"
    consumer.close()
    assert waited < 2.5  # it was 3.1 s, of which 3 were librdkafka's pause
    began = time.monotonic()
    Producer(where | {"transactional.id": "x"}).init_transactions(10)
    assert time.monotonic() - began < 2.5
