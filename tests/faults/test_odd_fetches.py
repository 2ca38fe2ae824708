"""Fetches with limits that cannot be, and requests that name ten thousand things at once."""

import time

import pytest

from tests.faults.log_calls import (
    BY_NAME,
    batch,
    create_topic,
    produce,
    read_all,
)
from tests.faults.odd_requests import (
    MAX32,
    MAX64,
    MIN32,
    MIN64,
    TOPIC,
    E,
    codes_of,
)
from tests.faults.raw_client import RawClient, versions
from tidelog.testing import Broker
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
)
from tidelog.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from tidelog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tidelog.wire.messages.produce import ProduceRequest

pytestmark = pytest.mark.usefixtures("no_failures")


@pytest.fixture(scope="module")
def topic_id(broker: Broker) -> bytes:
    with RawClient(broker.port) as client:
        made = create_topic(client, TOPIC, 2)
        assert produce(client, TOPIC, batch(b"a", b"b", b"c")).error_code == E.NONE
        return made


def fetch_of(*partitions: FetchPartition, **fields: int) -> FetchRequest:
    topics = [FetchTopic(topic=TOPIC, partitions=list(partitions))]
    return FetchRequest(replica_id=-1, topics=topics, **fields)  # type: ignore[arg-type]


@pytest.mark.usefixtures("topic_id")
@pytest.mark.parametrize("room", [0, -1, MIN32, 1, MAX32])
def test_fetch_always_gives_the_first_batch(client: RawClient, room: int) -> None:
    """However little room there is: else a consumer could never get past a large batch."""
    asked = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=room)
    answer = client.ask(ApiKey.FETCH, fetch_of(asked, max_bytes=room, min_bytes=1, max_wait_ms=0), BY_NAME)
    [[found]] = [topic.partitions for topic in answer.responses]
    assert found.error_code == E.NONE
    assert len(found.records) > 0


@pytest.mark.usefixtures("topic_id")
@pytest.mark.parametrize("offset", [-1, -2, MIN64, 4, MAX64])
def test_fetch_outside_of_the_log(client: RawClient, offset: int) -> None:
    asked = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1000)
    answer = client.ask(ApiKey.FETCH, fetch_of(asked, max_wait_ms=MAX32, min_bytes=MAX32), BY_NAME)
    assert set(codes_of(answer)) == {E.OFFSET_OUT_OF_RANGE}


@pytest.mark.usefixtures("topic_id")
def test_fetch_that_waits_for_more_than_there_will_be(broker: Broker, client: RawClient) -> None:
    """Its time ends; a client that leaves first leaves nothing behind."""
    asked = FetchPartition(partition=1, fetch_offset=0, partition_max_bytes=MAX32)
    began = time.monotonic()
    answer = client.ask(ApiKey.FETCH, fetch_of(asked, max_wait_ms=200, min_bytes=MAX32), BY_NAME)
    assert codes_of(answer)[-1] == E.NONE
    assert 0.15 < time.monotonic() - began < 5
    for wait in (MAX32, 60_000):
        with RawClient(broker.port) as leaver:
            leaver.send_request(ApiKey.FETCH, BY_NAME, fetch_of(asked, max_wait_ms=wait, min_bytes=MAX32))
    assert produce(client, TOPIC, batch(b"v"), index=1).error_code == E.NONE


@pytest.mark.usefixtures("topic_id")
def test_fetch_of_one_partition_many_times(client: RawClient) -> None:
    """In one request and in a session, where forgetting what was never there is no error."""
    asked = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
    request = fetch_of(*[asked] * 50, max_bytes=MAX32, max_wait_ms=0)
    request.session_epoch = 0
    first = client.ask(ApiKey.FETCH, request, BY_NAME)
    assert set(codes_of(first)) == {E.NONE}
    forgotten = [
        ForgottenTopic(topic=TOPIC, partitions=[0, 0, 99, -1]),
        ForgottenTopic(topic="?", partitions=[1]),
    ]
    next_one = FetchRequest(
        session_id=first.session_id, session_epoch=1, forgotten_topics_data=forgotten, max_wait_ms=0
    )
    assert set(codes_of(client.ask(ApiKey.FETCH, next_one, BY_NAME))) == {E.NONE}


def test_ten_thousand_topics_in_a_metadata_request(client: RawClient) -> None:
    wanted = [MetadataRequestTopic(name=f"nowhere-{number}") for number in range(10_000)]
    for version in versions(ApiKey.METADATA):
        answer = client.ask(ApiKey.METADATA, MetadataRequest(topics=wanted), version)
        assert len(answer.topics) == 10_000
        assert {topic.error_code for topic in answer.topics} == {E.UNKNOWN_TOPIC_OR_PARTITION}


def test_one_topic_ten_thousand_times(client: RawClient, topic_id: bytes) -> None:
    answer = client.ask(ApiKey.METADATA, MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)] * 10_000))
    assert {topic.topic_id for topic in answer.topics} == {topic_id}
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[])
    assert client.ask(ApiKey.PRODUCE, request, BY_NAME).responses == []


@pytest.mark.usefixtures("topic_id")
def test_a_page_that_begins_nowhere(client: RawClient) -> None:
    for cursor in (
        Cursor(topic_name="zzz", partition_index=MAX32),
        Cursor(topic_name=TOPIC, partition_index=MIN32),
    ):
        for limit in (0, -1, MIN32, MAX32):
            asked = DescribeTopicPartitionsRequest(response_partition_limit=limit, cursor=cursor)
            client.ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, asked)
    assert [record.value for record in read_all(client, TOPIC)] == [b"a", b"b", b"c"]
