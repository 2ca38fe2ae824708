"""Produce and Fetch: a revoked permission ends at once; a client that calls itself a follower is refused."""

import asyncio

import pytest

from tests.rigs.authorized_cluster import ADMIN, BROKERS, CLIENTS, AuthorizedCluster, with_cluster
from tests.rigs.sample_requests import transactions
from tests.rigs.sample_requests.records import BY_NAME, fetch, list_offsets, produce
from tests.rigs.sample_requests.sample import TRANSACTIONAL_ID
from tidelog.base.errors import ErrorCode
from tidelog.base.ids import ANY_REPLICA
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.describe_transactions import DescribeTransactionsRequest
from tidelog.wire.messages.fetch import FetchRequest, FetchResponse
from tidelog.wire.messages.produce import ProduceRequest, TopicProduceData
from tidelog.wire.record import Record, write_batch

ALICE, BOB = "User:alice", "User:bob"
TOPIC_FAILED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
CLUSTER_FAILED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


async def with_records(cluster: AuthorizedCluster) -> None:
    """A topic with a record, which alice may read."""
    await cluster.create_topic("orders")
    await cluster.allow(ALICE, Operation.READ, ResourceType.TOPIC, "orders")
    await write(cluster)


async def write(cluster: AuthorizedCluster, broker: int = 1) -> None:
    answer = await cluster.ask(ADMIN, ApiKey.PRODUCE, produce(acks=1), BY_NAME, broker=broker)
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE


def seen(answer: FetchResponse) -> list[tuple[int, bool]]:
    return [(part.error_code, bool(part.records)) for topic in answer.responses for part in topic.partitions]


def resumed(answer: FetchResponse, epoch: int, **options: int) -> FetchRequest:
    given = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20} | options
    return FetchRequest(session_id=answer.session_id, session_epoch=epoch, topics=[], **given)


def test_a_revoked_permission_ends_within_the_session() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await with_records(cluster)
        first = await cluster.ask(ALICE, ApiKey.FETCH, fetch(session_epoch=0), BY_NAME)
        assert seen(first) == [(0, True)]
        assert first.session_id
        questions = cluster.record(ALICE)
        assert seen(await cluster.ask(ALICE, ApiKey.FETCH, resumed(first, 1), BY_NAME)) == [(0, True)]
        assert not questions, "the session remembers the answer"
        await cluster.revoke(ALICE)
        assert seen(await cluster.ask(ALICE, ApiKey.FETCH, resumed(first, 2), BY_NAME)) == [
            (TOPIC_FAILED, False)
        ]
        await cluster.allow(ALICE, Operation.READ, ResourceType.TOPIC, "orders")
        assert seen(await cluster.ask(ALICE, ApiKey.FETCH, resumed(first, 3), BY_NAME)) == [(0, True)]

    with_cluster(life)


def test_a_change_of_other_permissions_does_not_disturb_a_session() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await with_records(cluster)
        first = await cluster.ask(ALICE, ApiKey.FETCH, fetch(session_epoch=0), BY_NAME)
        await cluster.allow(BOB, Operation.READ, ResourceType.TOPIC, "orders")
        assert seen(await cluster.ask(ALICE, ApiKey.FETCH, resumed(first, 1), BY_NAME)) == [(0, True)]

    with_cluster(life)


def test_a_session_belongs_to_its_principal() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await with_records(cluster)
        first = await cluster.ask(ALICE, ApiKey.FETCH, fetch(session_epoch=0), BY_NAME)
        stolen = await cluster.ask(BOB, ApiKey.FETCH, resumed(first, 1), BY_NAME)
        assert stolen.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        assert not stolen.responses, "names of topics"
        # Nor can bob end it.
        await cluster.ask(BOB, ApiKey.FETCH, fetch(session_id=first.session_id, session_epoch=-1), BY_NAME)
        assert seen(await cluster.ask(ALICE, ApiKey.FETCH, resumed(first, 1), BY_NAME)) == [(0, True)]

    with_cluster(life)


@pytest.mark.parametrize("in_session", [False, True])
def test_a_fetch_that_waits_delivers_nothing_that_came_after_the_revocation(in_session: bool) -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await with_records(cluster)
        request = fetch(offset=1, max_wait_ms=5000, session_epoch=0 if in_session else -1)
        waiting = asyncio.ensure_future(cluster.ask(ALICE, ApiKey.FETCH, request, BY_NAME))
        await asyncio.sleep(0.1)
        assert not waiting.done()
        await cluster.revoke(ALICE)
        await write(cluster)
        assert seen(await waiting) == [(TOPIC_FAILED, False)]

    with_cluster(life)


def test_a_waiting_fetch_of_a_former_broker_delivers_nothing() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await cluster.create_topic("orders", replicas=3)
        [partition] = cluster.services().metadata.image.topics["orders"].partitions
        leader = partition.leader
        follower = next(id for id in partition.replicas if id not in (leader, cluster.controller))
        await cluster.allow(ALICE, Operation.CLUSTER_ACTION, ResourceType.CLUSTER)
        cluster.machines[follower - 1].kill()
        request = fetch(replica_id=follower, max_wait_ms=5000, session_epoch=0)
        request.topics[0].partitions[0].current_leader_epoch = partition.leader_epoch
        connection = cluster.connection(ALICE, BROKERS)
        first = await cluster.ask(connection, ApiKey.FETCH, request, BY_NAME, broker=leader)
        again = resumed(first, 1, replica_id=follower, max_wait_ms=5000)
        waiting = asyncio.ensure_future(cluster.ask(connection, ApiKey.FETCH, again, BY_NAME, broker=leader))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await cluster.revoke(ALICE)
        await write(cluster, leader)
        answer = await waiting
        assert (answer.error_code, seen(answer)) == (CLUSTER_FAILED, [])

    with_cluster(life, brokers=3)


def test_a_client_that_calls_itself_a_follower_is_refused() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await with_records(cluster)
        await cluster.allow(BOB, Operation.CLUSTER_ACTION, ResourceType.CLUSTER)
        # Alice lacks CLUSTER_ACTION; bob, who has it, comes to the wrong door.
        for who in (cluster.connection(ALICE, BROKERS), cluster.connection(BOB, CLIENTS)):
            for replica in (2, ANY_REPLICA):
                answer = await cluster.ask(who, ApiKey.FETCH, fetch(replica_id=replica), BY_NAME)
                assert (answer.error_code, seen(answer)) == (CLUSTER_FAILED, [])
            [topic] = (await cluster.ask(who, ApiKey.LIST_OFFSETS, list_offsets(replica_id=2))).topics
            assert topic.partitions[0].error_code == CLUSTER_FAILED
            assert topic.partitions[0].offset == -1

    with_cluster(life)


def test_a_refused_produce_without_acknowledgement_closes_the_connection() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await with_records(cluster)
        with pytest.raises(ConnectionError):
            await cluster.ask(ALICE, ApiKey.PRODUCE, produce(acks=0), BY_NAME)
        assert end_of(cluster, "orders") == 1

    with_cluster(life)


@pytest.mark.parametrize("by_id", [False, True])
def test_a_refused_topic_does_not_keep_others_from_being_written(by_id: bool) -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        for name in ("orders", "payroll"):
            await cluster.create_topic(name)
        await cluster.allow(ALICE, Operation.WRITE, ResourceType.TOPIC, "orders")
        topics = cluster.services().metadata.image.topics
        data = produce().topic_data[0].partition_data
        request = ProduceRequest(
            acks=-1,
            timeout_ms=1000,
            topic_data=[
                TopicProduceData(topic_id=topics[name].id, partition_data=data)
                if by_id
                else TopicProduceData(name=name, partition_data=data)
                for name in ("payroll", "orders")
            ],
        )
        answer = await cluster.ask(ALICE, ApiKey.PRODUCE, request, 13 if by_id else BY_NAME)
        codes = [part.error_code for topic in answer.responses for part in topic.partition_responses]
        assert codes == [TOPIC_FAILED, 0]
        assert (end_of(cluster, "payroll"), end_of(cluster, "orders")) == (0, 1)

    with_cluster(life)


def test_a_transactional_id_of_another_is_refused_for_all_topics() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await with_records(cluster)
        await cluster.allow(ALICE, Operation.WRITE, ResourceType.TOPIC, "orders")
        await cluster.allow(ALICE, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, "mine")
        request = produce(transactional_id="bobs")
        answer = await cluster.ask(ALICE, ApiKey.PRODUCE, request, BY_NAME)
        code = answer.responses[0].partition_responses[0].error_code
        assert code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        assert end_of(cluster, "orders") == 1

    with_cluster(life)


def test_a_forbidden_topic_does_not_become_part_of_a_transaction() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await with_records(cluster)
        await cluster.allow(ALICE, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, TRANSACTIONAL_ID)
        await cluster.ask(ALICE, transactions.FIND.key, transactions.FIND.request)
        await asyncio.sleep(1)
        opened = await cluster.ask(ALICE, transactions.INIT.key, transactions.INIT.request)
        assert opened.error_code == ErrorCode.NONE
        batch = write_batch(
            [Record(0, 1_700_000_000_000, b"key", b"value", [])],
            producer_id=opened.producer_id,
            producer_epoch=opened.producer_epoch,
            base_sequence=0,
            transactional=True,
        )
        request = produce(transactional_id=TRANSACTIONAL_ID)
        request.topic_data[0].partition_data[0].records = memoryview(batch)
        describe = DescribeTransactionsRequest(transactional_ids=[TRANSACTIONAL_ID])
        for code, topics in ((TOPIC_FAILED, []), (ErrorCode.NONE, ["orders"])):
            answer = await cluster.ask(ALICE, ApiKey.PRODUCE, request, BY_NAME)
            assert answer.responses[0].partition_responses[0].error_code == code
            [state] = (await cluster.ask(ADMIN, ApiKey.DESCRIBE_TRANSACTIONS, describe)).transaction_states
            assert [topic.topic for topic in state.topics] == topics
            await cluster.allow(ALICE, Operation.WRITE, ResourceType.TOPIC, "orders")

    with_cluster(life)


def end_of(cluster: AuthorizedCluster, topic: str) -> int:
    return cluster.services().partitions.find(topic, 0).log.end
