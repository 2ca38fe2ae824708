"""Transactions under an authorizer: transactional ids and producer ids of others are of no use."""

from typing import Any

from tests.rigs.authorized_cluster import ADMIN, AuthorizedCluster, with_cluster
from tests.rigs.sample_requests.groups import FIND_GROUP
from tests.rigs.sample_requests.sample import GROUP, TOPIC
from tests.rigs.sample_requests.transactions import FIND, FOR_CLIENTS
from tidelog.base.errors import ErrorCode
from tidelog.metadata.topics.names import CONSUMER_OFFSETS
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages import add_partitions_to_txn as add
from tidelog.wire.messages import txn_offset_commit as commit
from tidelog.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from tidelog.wire.messages.describe_transactions import DescribeTransactionsRequest
from tidelog.wire.messages.end_txn import EndTxnRequest
from tidelog.wire.messages.init_producer_id import InitProducerIdRequest
from tidelog.wire.messages.list_transactions import ListTransactionsRequest
from tidelog.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.wire.record import Record, write_batch

ALICE, MALLORY = "User:alice", "User:mallory"
SECRET = "secret"
READ, WRITE, DESCRIBE = Operation.READ, Operation.WRITE, Operation.DESCRIBE
ON_TXN, ON_TOPIC, ON_GROUP = ResourceType.TRANSACTIONAL_ID, ResourceType.TOPIC, ResourceType.GROUP


async def start(cluster: AuthorizedCluster) -> None:
    for topic in (TOPIC, SECRET):
        await cluster.create_topic(topic)
    for sample in (FIND, FIND_GROUP):
        await cluster.ask(ADMIN, sample.key, sample.request)
    for principal, name in ((ALICE, "alice-1"), (MALLORY, "mallory-1")):
        await cluster.allow(principal, WRITE, ON_TXN, name)
        await cluster.allow(principal, WRITE, ON_TOPIC, TOPIC)
        await cluster.allow(principal, READ, ON_TOPIC, TOPIC)
        await cluster.allow(principal, READ, ON_GROUP, GROUP)


async def init(cluster: AuthorizedCluster, principal: str, name: str) -> Any:
    request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000)
    return await cluster.ask(principal, ApiKey.INIT_PRODUCER_ID, request)


def adding(name: str, producer: Any, *topics: str) -> add.AddPartitionsToTxnRequest:
    return add.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=name,
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.producer_epoch,
        v3_and_below_topics=[add.AddPartitionsToTxnTopic(name=topic, partitions=[0]) for topic in topics],
    )


def added_codes(answer: Any) -> dict[str, int]:
    return {
        topic.name: topic.results_by_partition[0].partition_error_code
        for topic in answer.results_by_topic_v3_and_below
    }


def offsets_of(name: str, producer: Any) -> commit.TxnOffsetCommitRequest:
    partitions = [commit.TxnOffsetCommitRequestPartition(committed_offset=5)]
    return commit.TxnOffsetCommitRequest(
        transactional_id=name,
        group_id=GROUP,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        topics=[commit.TxnOffsetCommitRequestTopic(name=TOPIC, partitions=partitions)],
    )


def commit_code(answer: Any) -> int:
    return int(answer.topics[0].partitions[0].error_code)


async def states(cluster: AuthorizedCluster, principal: str, *names: str) -> Any:
    request = DescribeTransactionsRequest(transactional_ids=list(names))
    return (await cluster.ask(principal, ApiKey.DESCRIBE_TRANSACTIONS, request)).transaction_states


def test_a_transactional_id_of_another_cannot_be_used() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await start(cluster)
        alice = await init(cluster, ALICE, "alice-1")
        assert not alice.error_code
        refused = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        stolen = await init(cluster, MALLORY, "alice-1")
        assert (stolen.error_code, stolen.producer_id) == (refused, -1)
        request = adding("alice-1", alice, TOPIC)
        answer = await cluster.ask(MALLORY, ApiKey.ADD_PARTITIONS_TO_TXN, request, FOR_CLIENTS)
        assert added_codes(answer) == {TOPIC: refused}
        of_alice = {
            "transactional_id": "alice-1",
            "producer_id": alice.producer_id,
            "producer_epoch": alice.producer_epoch,
        }
        offsets = AddOffsetsToTxnRequest(group_id=GROUP, **of_alice)
        assert (await cluster.ask(MALLORY, ApiKey.ADD_OFFSETS_TO_TXN, offsets)).error_code == refused
        ending = EndTxnRequest(committed=True, **of_alice)
        assert (await cluster.ask(MALLORY, ApiKey.END_TXN, ending)).error_code == refused
        [state] = await states(cluster, ADMIN, "alice-1")
        assert (state.transaction_state, state.producer_epoch) == ("Empty", alice.producer_epoch)

    with_cluster(life)


def test_a_producer_id_of_another_cannot_be_used() -> None:
    """Also under a transactional id of one's own: the coordinator knows which id it gave to which."""

    async def life(cluster: AuthorizedCluster) -> None:
        await start(cluster)
        alice = await init(cluster, ALICE, "alice-1")
        await init(cluster, MALLORY, "mallory-1")
        request = adding("mallory-1", alice, TOPIC)
        answer = await cluster.ask(MALLORY, ApiKey.ADD_PARTITIONS_TO_TXN, request, FOR_CLIENTS)
        assert added_codes(answer) == {TOPIC: ErrorCode.INVALID_PRODUCER_ID_MAPPING}
        offsets = offsets_of("mallory-1", alice)
        answer = await cluster.ask(MALLORY, ApiKey.TXN_OFFSET_COMMIT, offsets)
        assert commit_code(answer) == ErrorCode.INVALID_PRODUCER_ID_MAPPING

    with_cluster(life)


def test_an_open_transaction_of_another_cannot_be_written_to() -> None:
    """Its batches come without a question to the coordinator, which knows whose producer id it is."""

    async def life(cluster: AuthorizedCluster) -> None:
        await start(cluster)
        alice = await init(cluster, ALICE, "alice-1")
        await init(cluster, MALLORY, "mallory-1")
        assert await written(cluster, ALICE, "alice-1", alice, 0) == ErrorCode.NONE
        stolen = await written(cluster, MALLORY, "mallory-1", alice, 1)
        assert stolen == ErrorCode.INVALID_PRODUCER_ID_MAPPING
        assert await written(cluster, ALICE, "alice-1", alice, 1) == ErrorCode.NONE

        mine = offsets_of("alice-1", alice)
        assert commit_code(await cluster.ask(ALICE, ApiKey.TXN_OFFSET_COMMIT, mine)) == ErrorCode.NONE
        theirs = offsets_of("mallory-1", alice)
        answer = await cluster.ask(MALLORY, ApiKey.TXN_OFFSET_COMMIT, theirs)
        assert commit_code(answer) == ErrorCode.INVALID_PRODUCER_ID_MAPPING

    with_cluster(life)


async def written(cluster: AuthorizedCluster, principal: str, name: str, producer: Any, sequence: int) -> int:
    batch = write_batch(
        [Record(0, 1_700_000_000_000, None, b"value", [])],
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        base_sequence=sequence,
        transactional=True,
    )
    data = [PartitionProduceData(index=0, records=bytes(batch))]
    topics = [TopicProduceData(name=TOPIC, partition_data=data)]
    request = ProduceRequest(transactional_id=name, acks=-1, timeout_ms=1000, topic_data=topics)
    answer = await cluster.ask(principal, ApiKey.PRODUCE, request, 12)
    return int(answer.responses[0].partition_responses[0].error_code)


def test_partitions_join_all_together_or_not_at_all() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await start(cluster)
        alice = await init(cluster, ALICE, "alice-1")
        request = adding("alice-1", alice, TOPIC, SECRET, CONSUMER_OFFSETS)
        answer = await cluster.ask(ALICE, ApiKey.ADD_PARTITIONS_TO_TXN, request, FOR_CLIENTS)
        assert added_codes(answer) == {
            TOPIC: ErrorCode.OPERATION_NOT_ATTEMPTED,
            SECRET: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            CONSUMER_OFFSETS: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        }
        [state] = await states(cluster, ADMIN, "alice-1")
        assert state.transaction_state == "Empty"

    with_cluster(life)


def test_transactions_are_listed_and_described_as_far_as_the_client_may_see_them() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await start(cluster)
        await cluster.allow(ALICE, WRITE, ON_TOPIC, SECRET)
        alice = await init(cluster, ALICE, "alice-1")
        await init(cluster, MALLORY, "mallory-1")
        request = adding("alice-1", alice, TOPIC, SECRET)
        await cluster.ask(ALICE, ApiKey.ADD_PARTITIONS_TO_TXN, request, FOR_CLIENTS)
        listed = await cluster.ask(MALLORY, ApiKey.LIST_TRANSACTIONS, ListTransactionsRequest())
        assert [state.transactional_id for state in listed.transaction_states] == ["mallory-1"]
        [refused] = await states(cluster, MALLORY, "alice-1")
        assert refused.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        assert (refused.producer_id, refused.topics) == (-1, [])
        await cluster.allow(MALLORY, DESCRIBE, ON_TXN, "alice-1")
        [shown] = await states(cluster, MALLORY, "alice-1")
        assert [topic.topic for topic in shown.topics] == [TOPIC], "the other topic is not mallory's to see"

    with_cluster(life)


def test_idempotent_producers_need_a_topic_to_write_to() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await start(cluster)
        request = InitProducerIdRequest(transaction_timeout_ms=60_000)
        reader = "User:reader"
        await cluster.allow(reader, READ, ON_TOPIC, TOPIC)
        refused = await cluster.ask(reader, ApiKey.INIT_PRODUCER_ID, request)
        assert refused.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        assert not (await cluster.ask(ALICE, ApiKey.INIT_PRODUCER_ID, request)).error_code

    with_cluster(life)
