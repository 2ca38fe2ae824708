"""Transactions of zombies, strangers and late comers: the right error, and everybody else goes on."""

import time
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from tests.faults.raw_client import RawClient, wait_until
from tidelog.base.errors import ErrorCode as E
from tidelog.testing import Broker
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from tidelog.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from tidelog.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from tidelog.wire.messages.describe_transactions import DescribeTransactionsRequest
from tidelog.wire.messages.end_txn import EndTxnRequest
from tidelog.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tidelog.wire.messages.find_coordinator import FindCoordinatorRequest
from tidelog.wire.messages.init_producer_id import InitProducerIdRequest
from tidelog.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tidelog.wire.messages.list_transactions import ListTransactionsRequest
from tidelog.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
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

pytestmark = pytest.mark.usefixtures("no_failures")

TV2, TV1 = 12, 11
"""Versions of Produce: with the first, the leader adds partitions; with the second, the producer does."""

NUMBERS = count()


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(settings={"transaction.two.phase.commit.enable": True}) as running:
        yield running


class Producer:
    """What a transactional client knows; every request may be sent with anything in it."""

    def __init__(self, client: RawClient, topic: str, name: str | None = None) -> None:
        self.client, self.topic = client, topic
        self.name = name or f"tx-{next(NUMBERS)}"
        self.id = self.epoch = -1
        self.sequence = 0
        client.ask(ApiKey.FIND_COORDINATOR, FindCoordinatorRequest(key_type=1, coordinator_keys=[self.name]))

    def init(self, timeout_ms: int = 60_000, **more: Any) -> E:
        """Until the transaction of the one before is over."""
        deadline = time.monotonic() + 20
        while True:
            request = InitProducerIdRequest(
                transactional_id=self.name, transaction_timeout_ms=timeout_ms, **more
            )
            self.given = self.client.ask(ApiKey.INIT_PRODUCER_ID, request)
            error = E.of(self.given.error_code)
            if error not in (E.CONCURRENT_TRANSACTIONS, E.COORDINATOR_LOAD_IN_PROGRESS, E.NOT_COORDINATOR):
                break
            assert time.monotonic() < deadline
            time.sleep(0.02)
        if error is E.NONE:
            self.id, self.epoch, self.sequence = self.given.producer_id, self.given.producer_epoch, 0
        return error

    def add(self, version: int = 3) -> E:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self.id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=self.topic, partitions=[0])],
        )
        answer = self.client.ask(ApiKey.ADD_PARTITIONS_TO_TXN, request, version)
        [topic] = answer.results_by_topic_v3_and_below
        return E.of(topic.results_by_partition[0].partition_error_code)

    def produce(self, value: bytes = b"v", version: int = TV2) -> E:
        batch = write_batch(
            [Record(0, int(time.time() * 1000), b"k", value)],
            producer_id=self.id,
            producer_epoch=self.epoch,
            base_sequence=self.sequence,
            transactional=True,
        )
        data = TopicProduceData(
            name=self.topic, partition_data=[PartitionProduceData(index=0, records=bytes(batch))]
        )
        request = ProduceRequest(transactional_id=self.name, acks=-1, timeout_ms=10_000, topic_data=[data])
        answer = self.client.ask(ApiKey.PRODUCE, request, version)
        error = E.of(answer.responses[0].partition_responses[0].error_code)
        self.sequence += error is E.NONE
        return error

    def end(self, commit: bool = True, version: int = 5, epoch: int | None = None) -> E:
        request = EndTxnRequest(
            transactional_id=self.name,
            producer_id=self.id,
            producer_epoch=self.epoch if epoch is None else epoch,
            committed=commit,
        )
        answer = self.client.ask(ApiKey.END_TXN, request, version)
        error = E.of(answer.error_code)
        if error is E.NONE and version >= 5:
            self.id, self.epoch, self.sequence = answer.producer_id, answer.producer_epoch, 0
        return error

    def add_offsets(self, group: str) -> E:
        request = AddOffsetsToTxnRequest(
            transactional_id=self.name, producer_id=self.id, producer_epoch=self.epoch, group_id=group
        )
        return E.of(self.client.ask(ApiKey.ADD_OFFSETS_TO_TXN, request).error_code)

    def commit_offset(self, group: str, offset: int, version: int = 5) -> E:
        partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        request = TxnOffsetCommitRequest(
            transactional_id=self.name,
            group_id=group,
            producer_id=self.id,
            producer_epoch=self.epoch,
            topics=[TxnOffsetCommitRequestTopic(name=self.topic, partitions=[partition])],
        )
        answer = self.client.ask(ApiKey.TXN_OFFSET_COMMIT, request, version)
        return E.of(answer.topics[0].partitions[0].error_code)

    def is_settled(self) -> bool:
        request = DescribeTransactionsRequest(transactional_ids=[self.name])
        [state] = self.client.ask(ApiKey.DESCRIBE_TRANSACTIONS, request).transaction_states
        return state.transaction_state in ("Empty", "CompleteCommit", "CompleteAbort")

    def settle(self) -> None:
        wait_until(self.is_settled, "the markers are written")


@pytest.fixture
def topic(client: RawClient) -> str:
    name = f"topic-{next(NUMBERS)}"
    wanted = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    client.ask(ApiKey.CREATE_TOPICS, CreateTopicsRequest(topics=[wanted], timeout_ms=10_000))
    return name


@pytest.fixture
def producer(client: RawClient, topic: str) -> Producer:
    made = Producer(client, topic)
    assert made.init() is E.NONE
    return made


def fetched(client: RawClient, topic: str, committed: bool = True) -> Any:
    asked = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1 << 20,
        isolation_level=int(committed),
        topics=[FetchTopic(topic=topic, partitions=[asked])],
    )
    return client.ask(ApiKey.FETCH, request, 12).responses[0].partitions[0]


def group_offset(client: RawClient, group: str, topic: str) -> Any:
    wanted = OffsetFetchRequestTopics(name=topic, partition_indexes=[0])
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id=group, topics=[wanted])], require_stable=True
    )
    [found] = client.ask(ApiKey.OFFSET_FETCH, request, 9).groups
    one = found.topics[0].partitions[0]
    return E.of(one.error_code) if one.error_code else one.committed_offset


class TestReaders:
    def test_open_transactions_hold_up_those_who_read_committed(
        self, client: RawClient, producer: Producer, topic: str
    ) -> None:
        assert producer.produce() is E.NONE
        found = fetched(client, topic)
        assert (found.high_watermark, found.last_stable_offset) == (1, 0)
        assert not bytes(found.records)
        assert bytes(fetched(client, topic, committed=False).records)
        assert producer.end() is E.NONE
        producer.settle()
        found = fetched(client, topic)
        assert (found.high_watermark, found.last_stable_offset) == (2, 2)
        assert found.aborted_transactions == []

    def test_aborted_ones_are_named(self, client: RawClient, producer: Producer, topic: str) -> None:
        for commit in (False, True, False):
            producer.produce()
            assert producer.end(commit) is E.NONE
            producer.settle()
        found = fetched(client, topic)
        named = [(one.producer_id, one.first_offset) for one in found.aborted_transactions]
        assert named == [(producer.id, 0), (producer.id, 4)]

    def test_the_latest_offset_is_the_stable_one(
        self, client: RawClient, producer: Producer, topic: str
    ) -> None:
        producer.produce()
        asked = ListOffsetsPartition(partition_index=0, timestamp=-1)
        for isolation, expected in ((0, 1), (1, 0)):
            request = ListOffsetsRequest(
                replica_id=-1,
                isolation_level=isolation,
                topics=[ListOffsetsTopic(name=topic, partitions=[asked])],
            )
            answer = client.ask(ApiKey.LIST_OFFSETS, request, 6)
            assert answer.topics[0].partitions[0].offset == expected


class TestZombies:
    def test_they_are_refused_everywhere(self, client: RawClient, producer: Producer, topic: str) -> None:
        assert producer.produce(b"lost") is E.NONE
        heir = Producer(client, topic, producer.name)
        assert heir.init() is E.NONE
        assert producer.produce() is E.INVALID_PRODUCER_EPOCH
        assert producer.produce(version=TV1) is E.INVALID_PRODUCER_EPOCH
        assert producer.add() is E.PRODUCER_FENCED
        assert producer.add(version=1) is E.INVALID_PRODUCER_EPOCH
        assert producer.add_offsets("g") is E.PRODUCER_FENCED
        assert producer.commit_offset("g", 1) is E.INVALID_PRODUCER_EPOCH
        assert producer.end() is E.PRODUCER_FENCED
        assert producer.end(False, version=1) is E.INVALID_PRODUCER_EPOCH
        assert heir.produce(b"kept") is E.NONE
        assert heir.end() is E.NONE

    def test_a_delayed_end_does_not_end_a_later_transaction(self, producer: Producer) -> None:
        before = producer.epoch
        producer.produce()
        assert producer.end() is E.NONE
        producer.settle()
        assert producer.end(epoch=before) is E.NONE, "the same once more"
        assert producer.produce() is E.NONE
        assert producer.end(epoch=before) is E.PRODUCER_FENCED
        assert producer.end(False, epoch=before) is E.PRODUCER_FENCED
        assert producer.end() is E.NONE

    def test_markers_of_an_earlier_coordinator(
        self, client: RawClient, producer: Producer, topic: str
    ) -> None:
        def mark(coordinator_epoch: int, epoch: int) -> E:
            marker = WritableTxnMarker(
                producer_id=producer.id,
                producer_epoch=epoch,
                transaction_result=True,
                topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[0])],
                coordinator_epoch=coordinator_epoch,
            )
            answer = client.ask(ApiKey.WRITE_TXN_MARKERS, WriteTxnMarkersRequest(markers=[marker]))
            return E.of(answer.markers[0].topics[0].partitions[0].error_code)

        producer.produce()
        assert mark(7, producer.epoch) is E.NONE
        assert mark(6, producer.epoch) is E.TRANSACTION_COORDINATOR_FENCED
        assert mark(8, producer.epoch - 1) is E.INVALID_PRODUCER_EPOCH
        described = client.ask(
            ApiKey.DESCRIBE_PRODUCERS,
            DescribeProducersRequest(topics=[TopicRequest(name=topic, partition_indexes=[0])]),
        )
        [known] = described.topics[0].partitions[0].active_producers
        assert (known.coordinator_epoch, known.current_txn_start_offset) == (7, -1)


class TestStrangers:
    def test_an_id_that_nobody_knows(self, client: RawClient, topic: str) -> None:
        stranger = Producer(client, topic)
        stranger.id, stranger.epoch = 4711, 0
        assert stranger.add() is E.INVALID_PRODUCER_ID_MAPPING
        assert stranger.end() is E.INVALID_PRODUCER_ID_MAPPING
        assert stranger.produce() is E.INVALID_PRODUCER_ID_MAPPING
        [state] = client.ask(
            ApiKey.DESCRIBE_TRANSACTIONS, DescribeTransactionsRequest(transactional_ids=[stranger.name])
        ).transaction_states
        assert state.error_code == E.TRANSACTIONAL_ID_NOT_FOUND

    @pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
    def test_timeouts_that_nobody_may_have(self, client: RawClient, topic: str, timeout_ms: int) -> None:
        assert Producer(client, topic).init(timeout_ms) is E.INVALID_TRANSACTION_TIMEOUT

    def test_a_commit_without_a_transaction(self, producer: Producer) -> None:
        assert producer.end() is E.INVALID_TXN_STATE
        assert producer.end(version=4) is E.INVALID_TXN_STATE

    def test_a_partition_that_is_not_there(self, client: RawClient) -> None:
        lost = Producer(client, "no-such-topic")
        lost.init()
        assert lost.add() is E.UNKNOWN_TOPIC_OR_PARTITION

    def test_what_did_not_join_is_not_written(self, producer: Producer) -> None:
        assert producer.produce(version=11) is E.TRANSACTION_ABORTABLE
        assert producer.produce(version=10) is E.INVALID_TXN_STATE
        assert producer.add() is E.NONE
        assert producer.produce(version=10) is E.NONE

    def test_a_transactional_batch_without_a_transactional_id(self, producer: Producer) -> None:
        name, producer.name = producer.name, None  # type: ignore[assignment]
        assert producer.produce() is E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        producer.name = name
        assert producer.produce() is E.NONE

    def test_states_that_do_not_exist(self, client: RawClient, producer: Producer) -> None:
        producer.produce()
        request = ListTransactionsRequest(state_filters=["Ongoing", "Sleepy"])
        answer = client.ask(ApiKey.LIST_TRANSACTIONS, request)
        assert answer.unknown_state_filters == ["Sleepy"]
        assert producer.name in [one.transactional_id for one in answer.transaction_states]
        bad = client.ask(ApiKey.LIST_TRANSACTIONS, ListTransactionsRequest(transactional_id_pattern="("))
        assert bad.error_code == E.INVALID_REGULAR_EXPRESSION

    def test_the_verification_of_brokers(self, client: RawClient, producer: Producer, topic: str) -> None:
        def verify(verify_only: bool) -> E:
            asked = AddPartitionsToTxnTransaction(
                transactional_id=producer.name,
                producer_id=producer.id,
                producer_epoch=producer.epoch,
                verify_only=verify_only,
                topics=[AddPartitionsToTxnTopic(name=topic, partitions=[0])],
            )
            request = AddPartitionsToTxnRequest(transactions=[asked])
            [result] = client.ask(ApiKey.ADD_PARTITIONS_TO_TXN, request).results_by_transaction
            return E.of(result.topic_results[0].results_by_partition[0].partition_error_code)

        assert verify(True) is E.TRANSACTION_ABORTABLE
        assert verify(False) is E.NONE
        assert verify(True) is E.NONE


class TestOffsets:
    @pytest.mark.parametrize("commit", [True, False])
    @pytest.mark.parametrize("version", [3, 5])
    def test_they_count_with_the_transaction(
        self, client: RawClient, producer: Producer, topic: str, commit: bool, version: int
    ) -> None:
        group = f"group-{next(NUMBERS)}"
        client.ask(ApiKey.FIND_COORDINATOR, FindCoordinatorRequest(coordinator_keys=[group]))
        if version < 5:
            assert producer.commit_offset(group, 5, version) is not E.NONE, "it did not join"
            assert producer.add_offsets(group) is E.NONE
        assert producer.commit_offset(group, 5, version) is E.NONE
        assert group_offset(client, group, topic) is E.UNSTABLE_OFFSET_COMMIT
        assert producer.end(commit, version=version) is E.NONE
        producer.settle()
        assert group_offset(client, group, topic) == (5 if commit else -1)


class TestTimeouts:
    def test_a_transaction_that_takes_too_long_is_aborted(self, client: RawClient, topic: str) -> None:
        slow, other = Producer(client, topic), Producer(client, topic)
        assert slow.init(timeout_ms=300) is E.NONE
        assert other.init() is E.NONE
        assert slow.produce() is E.NONE
        assert other.produce() is E.NONE
        slow.settle()
        late = slow.epoch
        assert slow.end() is E.INVALID_TXN_STATE
        assert slow.end(commit=False) is E.NONE, "nobody took its place"
        assert slow.epoch == late + 1
        assert other.end() is E.NONE
        other.settle()
        found = fetched(client, topic)
        assert found.last_stable_offset == found.high_watermark == 4
        assert [one.producer_id for one in found.aborted_transactions] == [slow.id]


class TestPreparedTransactions:
    def test_one_outlives_its_producer(self, client: RawClient, producer: Producer, topic: str) -> None:
        assert producer.init(enable2_pc=True) is E.NONE
        assert producer.produce() is E.NONE
        heir = Producer(client, topic, producer.name)
        assert heir.init(enable2_pc=True, keep_prepared_txn=True) is E.NONE
        kept = heir.given.ongoing_txn_producer_id, heir.given.ongoing_txn_producer_epoch
        assert kept == (producer.id, producer.epoch)
        assert producer.end() is E.PRODUCER_FENCED
        assert heir.end() is E.NONE
        heir.settle()
        found = fetched(client, topic)
        assert found.last_stable_offset == 2
        assert found.aborted_transactions == []
        assert heir.produce() is E.NONE
