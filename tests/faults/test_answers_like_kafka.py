"""Corners of the protocol in which clients rely on Apache Kafka's exact answer."""

from itertools import count
from typing import Any

import pytest

from tests.faults.log_calls import batch, create_topic, produce, produce_request
from tests.faults.raw_client import RawClient
from tidelog.base.errors import ErrorCode
from tidelog.wire.apis import ApiKey
from tidelog.wire.compression import Codec
from tidelog.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from tidelog.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tidelog.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from tidelog.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tidelog.wire.messages.init_producer_id import InitProducerIdRequest
from tidelog.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tidelog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tidelog.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tidelog.wire.record import Record, write_batch

pytestmark = pytest.mark.usefixtures("no_failures")

NUMBERS = count()


@pytest.fixture
def topic(client: RawClient) -> str:
    name = f"corner-{next(NUMBERS)}"
    create_topic(client, name)
    return name


def list_offset(client: RawClient, topic: str, timestamp: int, version: int, times: int = 1) -> list[Any]:
    asked = [ListOffsetsPartition(partition_index=0, timestamp=timestamp) for _ in range(times)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=asked)])
    partitions: list[Any] = client.ask(ApiKey.LIST_OFFSETS, request, version).topics[0].partitions
    return partitions


@pytest.mark.parametrize(("word", "first_version"), [(-3, 7), (-4, 8), (-5, 9), (-6, 11)])
def test_each_word_for_an_offset_came_with_a_version(
    client: RawClient, topic: str, word: int, first_version: int
) -> None:
    [early] = list_offset(client, topic, word, first_version - 1)
    assert (early.error_code, early.offset) == (ErrorCode.UNSUPPORTED_VERSION, -1)
    [in_time] = list_offset(client, topic, word, first_version)
    assert in_time.error_code == ErrorCode.NONE


def test_an_unknown_word_is_no_timestamp(client: RawClient, topic: str) -> None:
    produce(client, topic, batch(b"v"))
    [answer] = list_offset(client, topic, -7, 11)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION


def test_what_is_named_twice_is_answered_once(client: RawClient, topic: str) -> None:
    [answer] = list_offset(client, topic, -1, 8, times=2)
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    twice = [CreatePartitionsTopic(name=topic, count=5) for _ in range(2)]
    [grown] = client.ask(ApiKey.CREATE_PARTITIONS, CreatePartitionsRequest(topics=twice)).results
    assert grown.error_code == ErrorCode.INVALID_REQUEST
    doomed = [DeleteTopicState(name="nobody") for _ in range(2)]
    [deleted] = client.ask(ApiKey.DELETE_TOPICS, DeleteTopicsRequest(topics=doomed)).responses
    assert deleted.error_code == ErrorCode.INVALID_REQUEST
    named = [MetadataRequestTopic(name=topic) for _ in range(2)]
    assert len(client.ask(ApiKey.METADATA, MetadataRequest(topics=named)).topics) == 1


@pytest.mark.parametrize(
    ("version", "code"), [(6, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE), (7, ErrorCode.NONE)]
)
def test_zstd_needs_a_version_whose_clients_can_read_it(
    client: RawClient, topic: str, version: int, code: ErrorCode
) -> None:
    records = write_batch([Record(0, 1, b"k", b"v", [])], codec=Codec.ZSTD)
    answer = client.ask(ApiKey.PRODUCE, produce_request(topic, records), version)
    assert answer.responses[0].partition_responses[0].error_code == code


def test_a_producer_is_told_which_records_are_to_blame(client: RawClient) -> None:
    name = f"compacted-{next(NUMBERS)}"
    create_topic(client, name, **{"cleanup.policy": "compact"})
    keys = [b"a", None, b"b", None]
    records = write_batch([Record(n, 1, key, b"v", []) for n, key in enumerate(keys)])
    answer = produce(client, name, records)
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert [error.batch_index for error in answer.record_errors] == [1, 3]
    assert answer.log_start_offset == 0


def test_times_that_are_refused_name_their_records_too(client: RawClient, topic: str) -> None:
    soon, never = 1_700_000_000_000, 9_000_000_000_000
    records = write_batch([Record(n, time, None, b"v", []) for n, time in enumerate([soon, never, soon])])
    answer = produce(client, topic, records)
    assert answer.error_code == ErrorCode.INVALID_TIMESTAMP
    assert [error.batch_index for error in answer.record_errors] == [1]


def test_a_new_leader_epoch_is_known_before_its_first_record(client: RawClient, topic: str) -> None:
    asked = [OffsetForLeaderPartition(partition=0, current_leader_epoch=-1, leader_epoch=0)]
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=topic, partitions=asked)])
    [answer] = client.ask(ApiKey.OFFSET_FOR_LEADER_EPOCH, request).topics[0].partitions
    assert (answer.leader_epoch, answer.end_offset) == (0, 0)


def test_a_producer_id_and_its_epoch_come_together(client: RawClient) -> None:
    request = InitProducerIdRequest(transactional_id=None, producer_id=7, producer_epoch=-1)
    assert client.ask(ApiKey.INIT_PRODUCER_ID, request).error_code == ErrorCode.INVALID_REQUEST


def test_metadata_by_id_is_refused_in_versions_that_had_it_too_early(client: RawClient, topic: str) -> None:
    [known] = client.ask(ApiKey.METADATA, MetadataRequest(topics=[MetadataRequestTopic(name=topic)])).topics
    by_id = MetadataRequest(topics=[MetadataRequestTopic(topic_id=known.topic_id, name=None)])
    assert client.ask(ApiKey.METADATA, by_id, 11).topics[0].error_code == ErrorCode.INVALID_REQUEST
    assert client.ask(ApiKey.METADATA, by_id, 12).topics[0].name == topic


def test_an_offset_out_of_range_comes_without_offsets(client: RawClient, topic: str) -> None:
    asked = FetchTopic(
        topic=topic, partitions=[FetchPartition(partition=0, fetch_offset=99, partition_max_bytes=1)]
    )
    request = FetchRequest(replica_id=-1, max_wait_ms=0, min_bytes=1, session_epoch=-1, topics=[asked])
    [answer] = client.ask(ApiKey.FETCH, request, 12).responses[0].partitions
    assert answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (answer.high_watermark, answer.last_stable_offset, answer.log_start_offset) == (-1, -1, -1)


@pytest.mark.parametrize(
    ("name", "cursor", "code"),
    [
        ("bad name!", None, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("nobody", None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("nobody", Cursor(topic_name="another", partition_index=0), ErrorCode.INVALID_REQUEST),
        ("nobody", Cursor(topic_name="nobody", partition_index=-1), ErrorCode.INVALID_REQUEST),
    ],
)
def test_topics_in_pages(client: RawClient, name: str, cursor: Cursor | None, code: ErrorCode) -> None:
    request = DescribeTopicPartitionsRequest(topics=[TopicRequest(name=name)], cursor=cursor)
    [answer] = client.ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, request).topics
    assert answer.error_code == code
