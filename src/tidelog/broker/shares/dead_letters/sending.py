"""Sends batches of dead letters to leaders of their partitions, and creates topics where that is allowed."""

from typing import Final

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.coordinators.internal_topics import CREATE_TIMEOUT_MS, CREATE_VERSION
from tidelog.broker.peers.peers import Peers
from tidelog.broker.requests.forwarding import Forwarding
from tidelog.shares.dead_letters.target import CREATED_WITH, Target
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from tidelog.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

SEND_SECONDS: Final = 15.0
PRODUCE_BY_ID: Final = 13
ACKS_ALL: Final = -1
AS_THE_CLUSTER: Final = -1
LANE: Final = "dead letters"

SEQUENCE_LOST = frozenset(
    {
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.INVALID_PRODUCER_EPOCH,
    }
)
"""The partition has lost earlier batches of the producer, and this one is not there: another begins."""


class LetterSender:
    def __init__(self, peers: Peers, forwarding: Forwarding) -> None:
        self._peers = peers
        self._forwarding = forwarding

    async def send(self, target: Target, batch: bytearray) -> None:
        """Returns once all in-sync replicas have the batch, now or from an earlier try.

        KafkaError or OSError otherwise; then the batch may have been written nevertheless.
        """
        data = PartitionProduceData(index=target.partition, records=memoryview(batch))
        request = ProduceRequest(
            acks=ACKS_ALL,
            timeout_ms=int(SEND_SECONDS * 1000),
            topic_data=[TopicProduceData(topic_id=target.topic_id, partition_data=[data])],
        )
        answer: ProduceResponse = await self._peers.call(
            target.leader, ApiKey.PRODUCE, PRODUCE_BY_ID, request, timeout=SEND_SECONDS, lane=LANE
        )
        [[result]] = [topic.partition_responses for topic in answer.responses]
        code = ErrorCode.of(result.error_code)
        if code not in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            raise KafkaError(code, result.error_message)

    async def create(self, name: str) -> None:
        """With as many partitions and replicas as the cluster's settings say. KafkaError or OSError."""
        topic = CreatableTopic(
            name=name,
            num_partitions=AS_THE_CLUSTER,
            replication_factor=AS_THE_CLUSTER,
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in CREATED_WITH],
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=CREATE_TIMEOUT_MS)
        answer: CreateTopicsResponse = await self._forwarding.ask_controller(
            ApiKey.CREATE_TOPICS, CREATE_VERSION, request
        )
        [created] = answer.topics
        code = ErrorCode.of(created.error_code)
        if code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
            raise KafkaError(code, created.error_message)
