"""Transactional requests in one line each, in which everything may be wrong; answers are names of errors."""

import time
from itertools import count
from typing import Any

from tests.faults.raw_client import RawClient, wait_until
from tidelog.base.errors import ErrorCode
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from tidelog.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from tidelog.wire.messages.describe_transactions import DescribeTransactionsRequest
from tidelog.wire.messages.end_txn import EndTxnRequest
from tidelog.wire.messages.find_coordinator import FindCoordinatorRequest
from tidelog.wire.messages.init_producer_id import InitProducerIdRequest
from tidelog.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tidelog.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tidelog.wire.record import Record, write_batch

FIRST, SECOND = 11, 12
"""Versions of Produce: with the first the producer adds its partitions, with the second the leader does."""

NOT_YET = {
    "CONCURRENT_TRANSACTIONS",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "COORDINATOR_NOT_AVAILABLE",
    "NOT_COORDINATOR",
}
SETTLED = ("Empty", "CompleteCommit", "CompleteAbort", "")
NUMBERS = count(time.time_ns() // 1000)
"""No two runs against the same broker use a name twice."""


def name_of(code: int) -> str:
    return ErrorCode.of(code).name


def fresh(word: str) -> str:
    return f"{word}-{next(NUMBERS)}"


class Transactor:
    """What a transactional client knows. `copy` is another one with the same knowledge, or with other."""

    def __init__(self, client: RawClient, name: str | None = None) -> None:
        self.client = client
        self.name = fresh("tx") if name is None else name
        self.id = self.epoch = -1
        self.sequences: dict[tuple[str, int], int] = {}

    def copy(self, **other: Any) -> "Transactor":
        made = Transactor(self.client, self.name)
        made.id, made.epoch, made.sequences = self.id, self.epoch, dict(self.sequences)
        for name, value in other.items():
            setattr(made, name, value)
        return made

    def find(self) -> str:
        asked = FindCoordinatorRequest(key_type=1, coordinator_keys=[self.name])
        [found] = self.client.ask(ApiKey.FIND_COORDINATOR, asked).coordinators
        return name_of(found.error_code)

    def init(self, timeout_ms: int = 60_000, version: int = 5, **more: Any) -> str:
        """Until the transaction of the one before is over."""
        wait_until(lambda: self.find() not in NOT_YET, "a coordinator")
        while True:
            request = InitProducerIdRequest(
                transactional_id=self.name, transaction_timeout_ms=timeout_ms, **more
            )
            answer = self.client.ask(ApiKey.INIT_PRODUCER_ID, request, version)
            error = name_of(answer.error_code)
            if error not in NOT_YET:
                break
            time.sleep(0.02)
        if error == "NONE":
            self.id, self.epoch, self.sequences = answer.producer_id, answer.producer_epoch, {}
        return error

    def add(self, *places: tuple[str, int], version: int = 3) -> str:
        """The error of each partition, in the order of the request."""
        topics = [AddPartitionsToTxnTopic(name=topic, partitions=[index]) for topic, index in places]
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self.id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=topics,
        )
        answer = self.client.ask(ApiKey.ADD_PARTITIONS_TO_TXN, request, version)
        errors = {
            (topic.name, one.partition_index): name_of(one.partition_error_code)
            for topic in answer.results_by_topic_v3_and_below
            for one in topic.results_by_partition
        }
        return " ".join(errors[place] for place in places)

    def verify(self, place: tuple[str, int], *, verify_only: bool, version: int = 5) -> str:
        """As brokers ask each other."""
        asked = AddPartitionsToTxnTransaction(
            transactional_id=self.name,
            producer_id=self.id,
            producer_epoch=self.epoch,
            verify_only=verify_only,
            topics=[AddPartitionsToTxnTopic(name=place[0], partitions=[place[1]])],
        )
        request = AddPartitionsToTxnRequest(transactions=[asked])
        answer = self.client.ask(ApiKey.ADD_PARTITIONS_TO_TXN, request, version)
        if answer.error_code:
            return name_of(answer.error_code)
        [result] = answer.results_by_transaction
        return name_of(result.topic_results[0].results_by_partition[0].partition_error_code)

    def produce(
        self,
        topic: str,
        index: int = 0,
        *,
        version: int = SECOND,
        sequence: int | None = None,
        transactional: bool = True,
        **request: Any,
    ) -> str:
        place = topic, index
        number = self.sequences.get(place, 0) if sequence is None else sequence
        batch = write_batch(
            [Record(0, int(time.time() * 1000), b"k", b"v")],
            producer_id=self.id,
            producer_epoch=self.epoch,
            base_sequence=number,
            transactional=transactional,
        )
        data = TopicProduceData(
            name=topic, partition_data=[PartitionProduceData(index=index, records=bytes(batch))]
        )
        fields = {"transactional_id": self.name, "acks": -1, "timeout_ms": 10_000} | request
        answer = self.client.ask(ApiKey.PRODUCE, ProduceRequest(topic_data=[data], **fields), version)
        error = name_of(answer.responses[0].partition_responses[0].error_code)
        if error == "NONE":
            self.sequences[place] = number + 1
        return error

    def end(self, commit: bool = True, version: int = 5) -> str:
        request = EndTxnRequest(
            transactional_id=self.name, producer_id=self.id, producer_epoch=self.epoch, committed=commit
        )
        answer = self.client.ask(ApiKey.END_TXN, request, version)
        error = name_of(answer.error_code)
        if error == "NONE" and version >= 5:
            self.id, self.epoch, self.sequences = answer.producer_id, answer.producer_epoch, {}
        return error

    def add_offsets(self, group: str, version: int = 3) -> str:
        request = AddOffsetsToTxnRequest(
            transactional_id=self.name, producer_id=self.id, producer_epoch=self.epoch, group_id=group
        )
        return name_of(self.client.ask(ApiKey.ADD_OFFSETS_TO_TXN, request, version).error_code)

    def commit_offset(
        self, group: str, topic: str, offset: int = 1, *, version: int = 5, index: int = 0, **more: Any
    ) -> str:
        partition = TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=offset)
        request = TxnOffsetCommitRequest(
            transactional_id=self.name,
            group_id=group,
            producer_id=self.id,
            producer_epoch=self.epoch,
            topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=[partition])],
            **more,
        )
        answer = self.client.ask(ApiKey.TXN_OFFSET_COMMIT, request, version)
        return name_of(answer.topics[0].partitions[0].error_code)

    def mark(
        self, topic: str, *, coordinator_epoch: int, index: int = 0, commit: bool = True, version: int = 1
    ) -> str:
        marker = WritableTxnMarker(
            producer_id=self.id,
            producer_epoch=self.epoch,
            transaction_result=commit,
            topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[index])],
            coordinator_epoch=coordinator_epoch,
        )
        answer = self.client.ask(ApiKey.WRITE_TXN_MARKERS, WriteTxnMarkersRequest(markers=[marker]), version)
        return name_of(answer.markers[0].topics[0].partitions[0].error_code)

    def state(self) -> str:
        request = DescribeTransactionsRequest(transactional_ids=[self.name])
        [found] = self.client.ask(ApiKey.DESCRIBE_TRANSACTIONS, request).transaction_states
        return str(found.transaction_state)

    def settle(self) -> str:
        """Once the markers are written."""
        wait_until(lambda: self.state() in SETTLED, "the transaction is over")
        return self.state()
