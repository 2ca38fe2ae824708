"""Records, and offsets in logs."""

from tests.rigs.authorized_cluster import BROKERS
from tests.rigs.sample_requests.sample import TOPIC, TRANSACTIONAL_ID, Sample
from tidelog.wire.apis import ApiKey
from tidelog.wire.message import Message
from tidelog.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tidelog.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from tidelog.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from tidelog.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tidelog.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tidelog.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.wire.record import Record, write_batch

BY_NAME = 12
"""The last version of Produce and Fetch in which topics have names."""


def produce(value: bytes = b"value", *, acks: int = -1, topic: str = TOPIC, **options: str) -> ProduceRequest:
    records = bytes(write_batch([Record(0, 1_700_000_000_000, b"key", value, [])]))
    data = [PartitionProduceData(index=0, records=records)]
    return ProduceRequest(
        acks=acks,
        timeout_ms=1000,
        topic_data=[TopicProduceData(name=topic, partition_data=data)],
        **options,  # type: ignore[arg-type]
    )


def fetch(topic: str = TOPIC, offset: int = 0, **options: object) -> FetchRequest:
    wanted = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    given = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, "session_epoch": -1} | options
    return FetchRequest(topics=[FetchTopic(topic=topic, partitions=[wanted])], **given)  # type: ignore[arg-type]


def list_offsets(topic: str = TOPIC, **options: int) -> Message:
    asked = ListOffsetsPartition(partition_index=0, timestamp=-1)
    return ListOffsetsRequest(
        topics=[ListOffsetsTopic(name=topic, partitions=[asked])], **({"replica_id": -1} | options)
    )


SAMPLES = [
    Sample(ApiKey.PRODUCE, produce(), BY_NAME, what="to a topic"),
    Sample(ApiKey.PRODUCE, produce(transactional_id=TRANSACTIONAL_ID), BY_NAME, what="in a transaction"),
    Sample(ApiKey.FETCH, fetch(), BY_NAME, what="of a consumer"),
    Sample(ApiKey.FETCH, fetch(replica_id=2), BY_NAME, BROKERS, what="of a follower"),
    Sample(
        ApiKey.FETCH,
        fetch(replica_state=ReplicaState(replica_id=2, replica_epoch=1)),
        listener=BROKERS,
        what="of a follower, with its epoch",
    ),
    Sample(ApiKey.LIST_OFFSETS, list_offsets(), what="of a consumer"),
    Sample(ApiKey.LIST_OFFSETS, list_offsets(replica_id=2), listener=BROKERS, what="of a follower"),
    Sample(
        ApiKey.DELETE_RECORDS,
        DeleteRecordsRequest(
            topics=[
                DeleteRecordsTopic(
                    name=TOPIC, partitions=[DeleteRecordsPartition(partition_index=0, offset=0)]
                )
            ],
            timeout_ms=1000,
        ),
    ),
    Sample(
        ApiKey.OFFSET_FOR_LEADER_EPOCH,
        OffsetForLeaderEpochRequest(
            topics=[
                OffsetForLeaderTopic(
                    topic=TOPIC, partitions=[OffsetForLeaderPartition(partition=0, leader_epoch=0)]
                )
            ]
        ),
    ),
    Sample(
        ApiKey.DESCRIBE_PRODUCERS,
        DescribeProducersRequest(topics=[TopicRequest(name=TOPIC, partition_indexes=[0])]),
    ),
]
