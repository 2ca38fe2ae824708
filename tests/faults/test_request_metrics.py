"""Requests of real clients as `/metrics` shows them: every API, every way through the broker."""

import time
from collections.abc import Iterator

import pytest

from tests.faults.raw_client import RawClient
from tests.rigs.scraped import scrape
from tidelog.base.errors import ErrorCode
from tidelog.testing import Broker
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tidelog.wire.messages.metadata import MetadataRequest
from tidelog.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.wire.record import Record, write_batch

PRODUCE_VERSION, FETCH_VERSION = 12, 12


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(settings={"metrics.port": -1, "auto.create.topics.enable": False}) as running:
        with RawClient(running.port) as client:
            topic = CreatableTopic(name="orders", num_partitions=1, replication_factor=1)
            client.ask(ApiKey.CREATE_TOPICS, CreateTopicsRequest(topics=[topic], timeout_ms=9000))
        yield running


def produce(acks: int = 1, topic: str = "orders") -> ProduceRequest:
    records = bytes(write_batch([Record(0, 1_700_000_000_000, b"k", b"v" * 100, [])]))
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=records)])
    return ProduceRequest(acks=acks, timeout_ms=9000, topic_data=[data])


def fetch(wait_ms: int, offset: int = 0) -> FetchRequest:
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    topics = [FetchTopic(topic="orders", partitions=[partition])]
    return FetchRequest(max_wait_ms=wait_ms, min_bytes=1, max_bytes=1 << 20, topics=topics)


def test_requests_are_counted_by_api_on_the_short_and_the_long_path(broker: Broker) -> None:
    before = scrape(broker)
    with RawClient(broker.port) as client:
        for _ in range(5):  # all but the first take the short path
            client.ask(ApiKey.PRODUCE, produce(), PRODUCE_VERSION)
        client.ask(ApiKey.METADATA, MetadataRequest(topics=None))
    after = scrape(broker)
    for api, count in (("Produce", 5), ("Metadata", 1)):
        name = f'tidelog_requests_total{{api="{api}"}}'
        assert after[name] - before.get(name, 0) == count
        name = f'tidelog_request_seconds_count{{api="{api}"}}'
        assert after[name] - before.get(name, 0) == count
    assert after['tidelog_request_bytes_total{api="Produce"}'] > 5 * 100


def test_a_fetch_that_waits_is_remote_time(broker: Broker) -> None:
    name = 'tidelog_request_part_seconds_sum{api="Fetch",part="remote"}'
    before = scrape(broker).get(name, 0)
    with RawClient(broker.port) as client:
        client.ask(ApiKey.FETCH, fetch(300, offset=1 << 40), FETCH_VERSION)  # refused at once
        end = client.ask(ApiKey.PRODUCE, produce(), PRODUCE_VERSION)
        offset = end.responses[0].partition_responses[0].base_offset + 1
        client.ask(ApiKey.FETCH, fetch(300, offset), FETCH_VERSION)
    after = scrape(broker)
    assert 0.25 < after[name] - before < 5
    assert after['tidelog_request_errors_total{api="Fetch",error="OFFSET_OUT_OF_RANGE"}'] == 1


def test_a_request_that_waits_is_in_flight(broker: Broker) -> None:
    with RawClient(broker.port) as client:
        end = client.ask(ApiKey.PRODUCE, produce(), PRODUCE_VERSION)
        offset = end.responses[0].partition_responses[0].base_offset + 1
        client.send_request(ApiKey.FETCH, FETCH_VERSION, fetch(5000, offset))
        deadline = time.monotonic() + 10
        while scrape(broker)["tidelog_requests_in_flight"] < 1:
            assert time.monotonic() < deadline
    while scrape(broker)["tidelog_requests_in_flight"]:  # the client has left
        assert time.monotonic() < deadline


def test_errors_are_counted_on_the_short_and_the_long_path(broker: Broker) -> None:
    with RawClient(broker.port) as client:
        for _ in range(3):
            answer = client.ask(ApiKey.PRODUCE, produce(topic="missing"), PRODUCE_VERSION)
            code = answer.responses[0].partition_responses[0].error_code
            assert code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    samples = scrape(broker)
    assert samples['tidelog_request_errors_total{api="Produce",error="UNKNOWN_TOPIC_OR_PARTITION"}'] == 3


def test_writes_without_an_answer_are_requests(broker: Broker) -> None:
    name = 'tidelog_requests_total{api="Produce"}'
    before = scrape(broker).get(name, 0)
    with RawClient(broker.port) as client:
        for _ in range(3):
            client.send_request(ApiKey.PRODUCE, PRODUCE_VERSION, produce(acks=0))
        client.ask(ApiKey.METADATA, MetadataRequest(topics=[]))
    assert scrape(broker)[name] - before == 3


def test_a_change_that_the_controller_makes_is_one_request(broker: Broker) -> None:
    topic = CreatableTopic(name="orders", num_partitions=1, replication_factor=1)
    before = scrape(broker)
    with RawClient(broker.port) as client:
        client.ask(ApiKey.CREATE_TOPICS, CreateTopicsRequest(topics=[topic], timeout_ms=9000))
    after = scrape(broker)
    name = 'tidelog_requests_total{api="CreateTopics"}'
    assert after[name] - before.get(name, 0) == 1
    assert after['tidelog_request_errors_total{api="CreateTopics",error="TOPIC_ALREADY_EXISTS"}'] == 1


def test_a_broken_frame_is_an_error_of_the_protocol(broker: Broker) -> None:
    name = "tidelog_protocol_errors_total"
    before = scrape(broker)[name]
    with RawClient(broker.port) as client:
        client.send(b"\0\0\0\4\x7f\x7f\0\0")
        assert client.is_closed()
    assert scrape(broker)[name] - before == 1
