"""The requests that most tests make, in a line each: produce a batch, read offsets, make a topic."""

import time
from typing import Any

from tests.faults.raw_client import RawClient
from tidelog.base.errors import ErrorCode
from tidelog.base.ports import Buffer
from tidelog.wire.apis import ApiKey
from tidelog.wire.batch import iter_batches
from tidelog.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from tidelog.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tidelog.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tidelog.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from tidelog.wire.record import Record, read_records, write_batch

LATEST, EARLIEST = -1, -2
BY_NAME = 12
"""The newest version of Produce and of Fetch that names topics."""


def create_topic(client: RawClient, name: str, partitions: int = 1, **settings: str) -> bytes:
    """The new topic's id. Settings with `_` for `.`."""
    configs = [
        CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in settings.items()
    ]
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=configs)
    [made] = client.ask(ApiKey.CREATE_TOPICS, CreateTopicsRequest(topics=[topic], timeout_ms=5000)).topics
    assert made.error_code == ErrorCode.NONE, made
    topic_id: bytes = made.topic_id
    return topic_id


def batch(*values: bytes | None, key: bytes | None = b"k", **header: Any) -> bytearray:
    now_ms = int(time.time() * 1000)
    return write_batch([Record(n, now_ms, key, value) for n, value in enumerate(values)], **header)


def produce_request(
    topic: str, records: Buffer | None, *, index: int = 0, acks: int = -1, timeout_ms: int = 10_000
) -> ProduceRequest:
    data = PartitionProduceData(index=index, records=records)
    return ProduceRequest(
        acks=acks, timeout_ms=timeout_ms, topic_data=[TopicProduceData(name=topic, partition_data=[data])]
    )


def produce(
    client: RawClient, topic: str, records: Buffer | None, *, index: int = 0, acks: int = -1
) -> PartitionProduceResponse:
    answer = client.ask(ApiKey.PRODUCE, produce_request(topic, records, index=index, acks=acks), BY_NAME)
    [[only]] = [topic.partition_responses for topic in answer.responses]
    assert isinstance(only, PartitionProduceResponse)
    return only


def offset_at(client: RawClient, topic: str, timestamp: int = LATEST, index: int = 0) -> int:
    partition = ListOffsetsPartition(partition_index=index, timestamp=timestamp)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[partition])])
    [[found]] = [topic.partitions for topic in client.ask(ApiKey.LIST_OFFSETS, request).topics]
    assert found.error_code == ErrorCode.NONE, ErrorCode(found.error_code)
    offset: int = found.offset
    return offset


def fetch_request(topic: str, offset: int = 0, *, index: int = 0, max_bytes: int = 1 << 20) -> FetchRequest:
    asked = FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=max_bytes)
    return FetchRequest(
        replica_id=-1,
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=max_bytes,
        topics=[FetchTopic(topic=topic, partitions=[asked])],
    )


def read_all(client: RawClient, topic: str, index: int = 0) -> list[Record]:
    """Every record between the ends of the log, with its offset."""
    offset, end = offset_at(client, topic, EARLIEST, index), offset_at(client, topic, LATEST, index)
    records: list[Record] = []
    while offset < end:
        answer = client.ask(ApiKey.FETCH, fetch_request(topic, offset, index=index), BY_NAME)
        [[found]] = [topic.partitions for topic in answer.responses]
        assert found.error_code == ErrorCode.NONE, ErrorCode(found.error_code)
        assert found.records, f"nothing at {offset} of {topic}-{index}, which ends at {end}"
        for position, header in iter_batches(found.records):
            records += [r for r in read_records(found.records[position:]) if r.offset >= offset]
            offset = header.next_offset
    return records
