"""Requests as bytes, built once before the clock starts, and a blocking client for what prepares a run."""

import itertools
import socket
import struct
import time
from typing import Any

from tidelog.wire.apis import API, ApiKey
from tidelog.wire.batch import HEADER
from tidelog.wire.frame import read_response, write_request
from tidelog.wire.messages.api_versions import ApiVersionsRequest
from tidelog.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tidelog.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tidelog.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tidelog.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.wire.record import Record, write_batch

PRODUCE_VERSION = 12
FETCH_VERSION = 12
_correlation = itertools.count(1)


def frame(key: ApiKey, version: int, message: Any) -> bytes:
    parts = write_request(key, version, next(_correlation), "bench", message)
    return b"".join(bytes(part) for part in parts)  # type: ignore[arg-type]  # no file slices here


def call(address: tuple[str, int], key: ApiKey, version: int, message: Any) -> Any:
    with socket.create_connection(address) as sock:
        sock.sendall(frame(key, version, message))
        (size,) = struct.unpack(">i", sock.recv(4, socket.MSG_WAITALL))
        return read_response(key, version, sock.recv(size, socket.MSG_WAITALL))[1]


def api_versions_frame() -> bytes:
    request = ApiVersionsRequest(client_software_name="bench", client_software_version="1")
    return frame(ApiKey.API_VERSIONS, 3, request)


def create_topic(address: tuple[str, int], name: str, partitions: int = 1) -> None:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    version = API[ApiKey.CREATE_TOPICS].max_version
    answer = call(
        address, ApiKey.CREATE_TOPICS, version, CreateTopicsRequest(topics=[topic], timeout_ms=60_000)
    )
    if answer.topics[0].error_code:
        raise RuntimeError(answer.topics[0].error_message)


def delete_topic(address: tuple[str, int], name: str) -> None:
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=60_000)
    call(address, ApiKey.DELETE_TOPICS, API[ApiKey.DELETE_TOPICS].max_version, request)


def end_offset(address: tuple[str, int], topic: str, partition: int = 0) -> int:
    asked = ListOffsetsPartition(partition_index=partition, timestamp=-1)
    request = ListOffsetsRequest(topics=[ListOffsetsTopic(name=topic, partitions=[asked])])
    answer = call(address, ApiKey.LIST_OFFSETS, 7, request).topics[0].partitions[0]
    if answer.error_code:
        raise RuntimeError(f"ListOffsets answered error {answer.error_code}")
    return int(answer.offset)


def batch_of(size: int) -> bytes:
    """One batch of exactly `size` bytes, with records of about 1 KB."""
    now = time.time_ns() // 1_000_000
    count = max(1, size // 1024)
    value = bytes(range(256)) * 4
    records = [Record(number, now, None, value[:900], []) for number in range(count - 1)]
    left = size - len(write_batch(records)) if records else size - HEADER.size
    last = next(
        batch
        for length in range(max(0, left - 16), left)
        if len(batch := write_batch([*records, Record(count - 1, now, None, bytes(length), [])])) == size
    )
    return bytes(last)


def produce_frame(topic: str, batch: bytes, *, partition: int = 0, acks: int = 1) -> bytes:
    data = PartitionProduceData(index=partition, records=memoryview(batch))
    topics = [TopicProduceData(name=topic, partition_data=[data])]
    request = ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=topics)
    return frame(ApiKey.PRODUCE, PRODUCE_VERSION, request)


def records_in(batch: bytes) -> int:
    return int(HEADER.unpack_from(batch)[-1])


def fetch_frame(topic: str, offset: int, bytes_max: int, *, partition: int = 0) -> bytes:
    asked = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=bytes_max)
    request = FetchRequest(
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=max(bytes_max, 1 << 20),
        session_epoch=-1,
        topics=[FetchTopic(topic=topic, partitions=[asked])],
    )
    return frame(ApiKey.FETCH, FETCH_VERSION, request)
