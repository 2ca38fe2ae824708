"""Requests about topics: names do not leak, and every operation needs its own permission."""

import re
from typing import Any

import pytest

from tests.rigs.authorized_cluster import ADMIN, CLIENT_HOST, AuthorizedCluster, with_cluster
from tests.rigs.sample_requests.records import BY_NAME, fetch, list_offsets, produce
from tidelog.base.errors import ErrorCode
from tidelog.base.ids import ZERO_UUID
from tidelog.broker.requests.config_resources import TOPIC as TOPIC_TYPE
from tidelog.security.acls.vocabulary import Operation, PatternType, Permission, ResourceType
from tidelog.wire.apis import ApiKey
from tidelog.wire.message import Message
from tidelog.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from tidelog.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tidelog.wire.messages.describe_cluster import DescribeClusterRequest
from tidelog.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from tidelog.wire.messages.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from tidelog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

ALICE = "User:alice"
TOPIC_FAILED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
REAL, INVENTED = "orders", "orderz"


def metadata(name: str, **options: bool) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name=name)], **options)


def create(name: str, **options: bool) -> CreateTopicsRequest:
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    return CreateTopicsRequest(topics=[topic], timeout_ms=1000, **options)


def delete(name: str | None = None, topic_id: bytes = ZERO_UUID) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(topics=[DeleteTopicState(name=name, topic_id=topic_id)], timeout_ms=1000)


def about(name: str) -> list[tuple[ApiKey, Message, int | None]]:
    """Requests that name a topic."""
    config = DescribeConfigsResource(resource_type=TOPIC_TYPE, resource_name=name, configuration_keys=None)
    growth = CreatePartitionsTopic(name=name, count=2, assignments=None)
    return [
        (ApiKey.METADATA, metadata(name, include_topic_authorized_operations=True), None),
        (ApiKey.METADATA, metadata(name, allow_auto_topic_creation=True), None),
        (
            ApiKey.DESCRIBE_TOPIC_PARTITIONS,
            DescribeTopicPartitionsRequest(topics=[TopicRequest(name=name)]),
            None,
        ),
        (ApiKey.CREATE_TOPICS, create(name), None),
        (ApiKey.DELETE_TOPICS, delete(name), None),
        (ApiKey.CREATE_PARTITIONS, CreatePartitionsRequest(topics=[growth], timeout_ms=1000), None),
        (ApiKey.DESCRIBE_CONFIGS, DescribeConfigsRequest(resources=[config]), None),
        (ApiKey.PRODUCE, produce(topic=name), BY_NAME),
        (ApiKey.FETCH, fetch(name), BY_NAME),
        (ApiKey.LIST_OFFSETS, list_offsets(name), None),
    ]


def shown(answer: Message) -> str:
    return re.sub(r"<memory at \w+>", "", repr(answer))


def test_a_topic_that_exists_is_refused_like_a_name_that_is_invented() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await cluster.create_topic(REAL)
        for real, invented in zip(about(REAL), about(INVENTED), strict=True):
            answers = [shown(await cluster.ask(ALICE, *request)) for request in (real, invented)]
            assert f"error_code={TOPIC_FAILED:d}," in answers[0]
            assert answers[0].replace(REAL, INVENTED) == answers[1], real[0].name
        assert set(cluster.services().metadata.image.topics) == {REAL}

    with_cluster(life)


@pytest.mark.parametrize("name", ["../orders", "..", "a/b", "x" * 250, "new\nline"])
def test_an_odd_name_is_refused_also_with_every_permission(name: str) -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        for key, request, version in about(name):
            answer = await cluster.ask(ADMIN, key, request, version)
            codes = {code.name for code in ErrorCode if f"error_code={code.value}," in repr(answer)}
            assert codes - {"NONE"}, f"{key.name}: {answer}"
        assert not cluster.services().metadata.image.topics

    with_cluster(life)


def test_lists_of_all_topics_leave_out_what_a_client_may_not_see() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        for name in ("orders", "orders-eu", "payroll"):
            await cluster.create_topic(name)
        await cluster.allow(
            ALICE, Operation.WRITE, ResourceType.TOPIC, "orders", pattern=PatternType.PREFIXED
        )
        await cluster.allow(
            ALICE, Operation.DESCRIBE, ResourceType.TOPIC, "orders-eu", permission=Permission.DENY
        )
        for key, request in (
            (ApiKey.METADATA, MetadataRequest(topics=None)),
            (ApiKey.DESCRIBE_TOPIC_PARTITIONS, DescribeTopicPartitionsRequest(topics=[])),
        ):
            answer = await cluster.ask(ALICE, key, request)
            assert [(topic.name, topic.error_code) for topic in answer.topics] == [("orders", 0)]
            assert len((await cluster.ask(ADMIN, key, request)).topics) == 3

    with_cluster(life)


def test_an_id_does_not_tell_the_name() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await cluster.create_topic(REAL)
        id = cluster.services().metadata.image.topics[REAL].id
        asked = MetadataRequest(topics=[MetadataRequestTopic(name=None, topic_id=id)])
        [shown] = (await cluster.ask(ALICE, ApiKey.METADATA, asked)).topics
        assert (shown.error_code, shown.name, shown.topic_id) == (TOPIC_FAILED, None, id)
        [deleted] = (await cluster.ask(ALICE, ApiKey.DELETE_TOPICS, delete(topic_id=id))).responses
        assert (deleted.error_code, deleted.name, deleted.topic_id) == (TOPIC_FAILED, None, id)
        await cluster.allow(ALICE, Operation.DESCRIBE, ResourceType.TOPIC, REAL)
        [shown] = (await cluster.ask(ALICE, ApiKey.METADATA, asked)).topics
        assert (shown.error_code, shown.name) == (0, REAL)
        [deleted] = (await cluster.ask(ALICE, ApiKey.DELETE_TOPICS, delete(topic_id=id))).responses
        assert (deleted.error_code, deleted.name) == (TOPIC_FAILED, REAL)
        await cluster.allow(ALICE, Operation.DELETE, ResourceType.TOPIC, REAL)
        [deleted] = (await cluster.ask(ALICE, ApiKey.DELETE_TOPICS, delete(topic_id=id))).responses
        assert (deleted.error_code, deleted.name) == (0, REAL)

    with_cluster(life)


def test_a_client_that_may_describe_a_topic_learns_that_it_is_missing() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await cluster.allow(ALICE, Operation.DESCRIBE, ResourceType.TOPIC, INVENTED)
        [deleted] = (await cluster.ask(ALICE, ApiKey.DELETE_TOPICS, delete(INVENTED))).responses
        assert deleted.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        [shown] = (
            await cluster.ask(ALICE, ApiKey.METADATA, metadata(INVENTED, allow_auto_topic_creation=False))
        ).topics
        assert shown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    with_cluster(life)


@pytest.mark.parametrize("resource", [ResourceType.TOPIC, ResourceType.CLUSTER])
def test_a_topic_is_created_automatically_only_with_create(resource: ResourceType) -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await cluster.allow(ALICE, Operation.DESCRIBE, ResourceType.TOPIC, INVENTED)
        request = metadata(INVENTED, allow_auto_topic_creation=True)
        for broker in (1, 2):
            [topic] = (await cluster.ask(ALICE, ApiKey.METADATA, request, broker=broker)).topics
            assert (topic.error_code, topic.topic_id) == (TOPIC_FAILED, ZERO_UUID)
        assert not cluster.services().metadata.image.topics
        name = INVENTED if resource is ResourceType.TOPIC else "kafka-cluster"
        await cluster.allow(ALICE, Operation.CREATE, resource, name)
        other = next(machine.id for machine in cluster.machines if machine.id != cluster.controller)
        [topic] = (await cluster.ask(ALICE, ApiKey.METADATA, request, broker=other)).topics
        assert (topic.error_code, topic.name) == (0, INVENTED)

    with_cluster(life, brokers=2)


def test_create_on_the_cluster_is_create_on_every_topic() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await cluster.allow(ALICE, Operation.CREATE, ResourceType.CLUSTER)
        [created] = (await cluster.ask(ALICE, ApiKey.CREATE_TOPICS, create(REAL))).topics
        assert created.error_code == ErrorCode.NONE
        assert created.topic_config_error_code == TOPIC_FAILED
        assert (created.configs, created.num_partitions) == (None, -1), "settings need DESCRIBE_CONFIGS"
        await cluster.allow(ALICE, Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, "more")
        [created] = (await cluster.ask(ALICE, ApiKey.CREATE_TOPICS, create("more"))).topics
        assert (created.error_code, created.topic_config_error_code, created.num_partitions) == (0, 0, 1)
        assert created.configs

    with_cluster(life)


def test_one_refused_topic_does_not_keep_the_others_from_being_changed() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await cluster.allow(ALICE, Operation.ALL, ResourceType.TOPIC, "mine", pattern=PatternType.PREFIXED)
        wanted = [
            CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in ("mine-1", "yours")
        ]
        answer = await cluster.ask(ALICE, ApiKey.CREATE_TOPICS, CreateTopicsRequest(topics=wanted))
        assert {topic.name: topic.error_code for topic in answer.topics} == {
            "mine-1": 0,
            "yours": TOPIC_FAILED,
        }
        await cluster.create_topic("yours")
        growth = [
            CreatePartitionsTopic(name=name, count=3, assignments=None)
            for name in ("yours", "mine-1", "mine-2")
        ]
        answer = await cluster.ask(ALICE, ApiKey.CREATE_PARTITIONS, CreatePartitionsRequest(topics=growth))
        assert {result.name: result.error_code for result in answer.results} == {
            "yours": TOPIC_FAILED,
            "mine-1": 0,
            "mine-2": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        }
        topics = cluster.services().metadata.image.topics
        assert {name: len(topic.partitions) for name, topic in topics.items()} == {"mine-1": 3, "yours": 1}

    with_cluster(life)


def bits(*operations: Operation) -> int:
    return sum(1 << operation for operation in operations)


def test_authorized_operations_are_those_of_the_client() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await cluster.create_topic(REAL)
        await cluster.allow(ALICE, Operation.READ, ResourceType.TOPIC, REAL)
        request = metadata(
            REAL, include_topic_authorized_operations=True, include_cluster_authorized_operations=True
        )
        answer = await cluster.ask(ALICE, ApiKey.METADATA, request, 10)
        assert answer.topics[0].topic_authorized_operations == bits(Operation.READ, Operation.DESCRIBE)
        assert answer.cluster_authorized_operations == 0
        described = DescribeTopicPartitionsRequest(topics=[TopicRequest(name=REAL)])
        [topic] = (await cluster.ask(ALICE, ApiKey.DESCRIBE_TOPIC_PARTITIONS, described)).topics
        assert topic.topic_authorized_operations == bits(Operation.READ, Operation.DESCRIBE)
        await cluster.allow(ALICE, Operation.ALTER, ResourceType.CLUSTER)
        expected = bits(Operation.ALTER, Operation.DESCRIBE)
        assert (
            await cluster.ask(ALICE, ApiKey.METADATA, request, 10)
        ).cluster_authorized_operations == expected
        of_cluster = DescribeClusterRequest(include_cluster_authorized_operations=True)
        answer = await cluster.ask(ALICE, ApiKey.DESCRIBE_CLUSTER, of_cluster)
        assert answer.cluster_authorized_operations == expected
        assert [broker.broker_id for broker in answer.brokers] == [1]

    with_cluster(life)


def test_the_host_of_a_client_counts() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await cluster.create_topic(REAL)
        await cluster.allow(ALICE, Operation.DESCRIBE, ResourceType.TOPIC, REAL, host=CLIENT_HOST)
        elsewhere = cluster.connection(ALICE, host="198.51.100.7")
        codes: list[Any] = [
            (await cluster.ask(who, ApiKey.METADATA, metadata(REAL))).topics[0].error_code
            for who in (ALICE, elsewhere)
        ]
        assert codes == [0, TOPIC_FAILED]

    with_cluster(life)
