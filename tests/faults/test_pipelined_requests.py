"""Requests that are sent before the answers to those ahead of them: each sees what the ones before it did."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from tests.faults.log_calls import (
    BY_NAME,
    EARLIEST,
    LATEST,
    batch,
    create_topic,
    fetch_request,
    produce,
    produce_request,
)
from tests.faults.raw_client import RawClient, request_bytes
from tidelog.base.errors import ErrorCode
from tidelog.testing import Broker
from tidelog.wire.apis import API, ApiKey
from tidelog.wire.frame import read_response
from tidelog.wire.message import Message
from tidelog.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tidelog.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

pytestmark = pytest.mark.usefixtures("no_failures")

TRIES = 10


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(settings={"durability": "fsync", "auto.create.topics.enable": False}) as running:
        yield running


def together(client: RawClient, *requests: tuple[int, Message]) -> list[Any]:
    """All of them in one send; their answers."""
    frames, asked = b"", []
    for number, (key, message) in enumerate(requests, 1):
        version = BY_NAME if key in (ApiKey.PRODUCE, ApiKey.FETCH) else API[key].max_version
        frames += request_bytes(key, version, message, number)
        asked.append((key, version, number))
    client.send(frames)
    answers = []
    for key, version, number in asked:
        answered, answer = read_response(key, version, client.receive())
        assert answered == number
        answers.append(answer)
    return answers


def list_offsets(topic: str, timestamp: int) -> tuple[int, Message]:
    asked = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    topics = [ListOffsetsTopic(name=topic, partitions=[asked])]
    return ApiKey.LIST_OFFSETS, ListOffsetsRequest(replica_id=-1, topics=topics)


def delete_records(topic: str, before: int) -> tuple[int, Message]:
    asked = DeleteRecordsPartition(partition_index=0, offset=before)
    topics = [DeleteRecordsTopic(name=topic, partitions=[asked])]
    return ApiKey.DELETE_RECORDS, DeleteRecordsRequest(topics=topics, timeout_ms=5000)


def create_topics(name: str) -> tuple[int, Message]:
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    return ApiKey.CREATE_TOPICS, CreateTopicsRequest(topics=[topic], timeout_ms=5000)


def found(answer: Any) -> Any:
    [[partition]] = [topic.partitions for topic in answer.topics]
    return partition


def test_the_start_of_a_log_after_records_were_deleted(client: RawClient) -> None:
    create_topic(client, "deleted")
    for number in range(1, TRIES + 1):
        produce(client, "deleted", batch(b"v"))
        _, listed = together(client, delete_records("deleted", number), list_offsets("deleted", EARLIEST))
        assert found(listed).offset == number


@pytest.mark.parametrize("acks", [-1, 1])
def test_the_end_of_a_log_after_a_produce(client: RawClient, acks: int) -> None:
    topic = f"produced{acks}"
    create_topic(client, topic)
    for number in range(1, TRIES + 1):
        request = produce_request(topic, batch(b"v"), acks=acks)
        _, listed = together(client, (ApiKey.PRODUCE, request), list_offsets(topic, LATEST))
        assert found(listed).offset == number


def test_a_topic_that_was_just_created(client: RawClient) -> None:
    for number in range(TRIES):
        name = f"created-{number}"
        request = produce_request(name, batch(b"v"))
        created, listed, produced, fetched = together(
            client,
            create_topics(name),
            list_offsets(name, LATEST),
            (ApiKey.PRODUCE, request),
            (ApiKey.FETCH, fetch_request(name)),
        )
        assert created.topics[0].error_code == ErrorCode.NONE
        assert (found(listed).error_code, found(listed).offset) == (ErrorCode.NONE, 0)
        assert produced.responses[0].partition_responses[0].error_code == ErrorCode.NONE
        assert fetched.responses[0].partitions[0].error_code == ErrorCode.NONE


def test_a_fetch_that_waits_keeps_a_produce_behind_it_from_nothing(client: RawClient) -> None:
    """It would wait for its own record for ever, were it served alone as in Kafka."""
    create_topic(client, "overlapping")
    waiting = fetch_request("overlapping")
    waiting.max_wait_ms = 15_000
    began = time.monotonic()
    request = produce_request("overlapping", batch(b"v"))
    fetched, _ = together(client, (ApiKey.FETCH, waiting), (ApiKey.PRODUCE, request))
    assert fetched.responses[0].partitions[0].records
    assert time.monotonic() - began < 5


def test_what_comes_behind_a_fetch_that_waits_is_no_older_than_its_answer(client: RawClient) -> None:
    create_topic(client, "monotonic")
    waiting = fetch_request("monotonic")
    waiting.max_wait_ms = 15_000
    requests = [(ApiKey.FETCH, waiting), list_offsets("monotonic", LATEST)]
    with RawClient(client.socket.getpeername()[1]) as other:
        client.send(b"".join(request_bytes(k, BY_NAME if k == 1 else 9, m) for k, m in requests))
        time.sleep(0.1)
        produce(other, "monotonic", batch(b"v"))
    client.receive()
    assert found(read_response(ApiKey.LIST_OFFSETS, 9, client.receive())[1]).offset == 1


def test_delete_records_of_librdkafka_is_seen_by_what_it_asks_next(broker: Broker, client: RawClient) -> None:
    create_topic(client, "by-librdkafka")
    produce(client, "by-librdkafka", batch(*[b"v"] * TRIES))
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    place = TopicPartition("by-librdkafka", 0)
    # Until librdkafka knows the leader, it may send two requests in another order than it was given them.
    [start] = admin.list_offsets({place: OffsetSpec.earliest()}).values()
    assert start.result(10).offset == 0
    for number in range(1, TRIES):
        [deleted] = admin.delete_records([TopicPartition("by-librdkafka", 0, number)]).values()
        [listed] = admin.list_offsets({place: OffsetSpec.earliest()}).values()
        assert listed.result(10).offset == number
        assert deleted.result(10).low_watermark == number
