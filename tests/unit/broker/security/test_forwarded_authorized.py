"""Forwarding: the original principal decides, on the controller; only brokers may forward."""

import pytest

from tests.rigs.authorized_cluster import ADMIN, BROKER, BROKERS, AuthorizedCluster, with_cluster
from tests.rigs.sample_requests import between_brokers
from tests.rigs.sample_requests.sample import Sample
from tidelog.base.errors import ErrorCode, ProtocolError
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.security.principal import BROKER_ITSELF
from tidelog.wire.apis import ApiKey
from tidelog.wire.frame import write_request
from tidelog.wire.message import Message
from tidelog.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.wire.messages.find_coordinator import FindCoordinatorRequest
from tidelog.wire.messages.forward import ForwardRequest

ALICE = "User:alice"


def create(name: str) -> CreateTopicsRequest:
    return CreateTopicsRequest(
        topics=[CreatableTopic(name=name, num_partitions=1, replication_factor=1)], timeout_ms=1000
    )


def other_than_controller(cluster: AuthorizedCluster) -> int:
    return next(machine.id for machine in cluster.machines if machine.id != cluster.controller)


def test_the_original_principal_decides_on_the_controller() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        broker = other_than_controller(cluster)
        questions = cluster.record(ALICE, cluster.controller)
        [refused] = (await cluster.ask(ALICE, ApiKey.CREATE_TOPICS, create("orders"), broker=broker)).topics
        assert refused.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert (Operation.CREATE, ResourceType.TOPIC, "orders") in questions
        assert not cluster.services().metadata.image.topics
        await cluster.allow(ALICE, Operation.CREATE, ResourceType.TOPIC, "orders")
        [created] = (await cluster.ask(ALICE, ApiKey.CREATE_TOPICS, create("orders"), broker=broker)).topics
        assert created.error_code == ErrorCode.NONE

    with_cluster(life, brokers=2)


def test_the_host_of_the_original_client_counts() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        broker = other_than_controller(cluster)
        await cluster.allow(ALICE, Operation.CREATE, ResourceType.CLUSTER, host="198.51.100.7")
        for host, code in (("198.51.100.8", ErrorCode.TOPIC_AUTHORIZATION_FAILED), ("198.51.100.7", 0)):
            client = cluster.connection(ALICE, host=host)
            [topic] = (
                await cluster.ask(client, ApiKey.CREATE_TOPICS, create("orders"), broker=broker)
            ).topics
            assert topic.error_code == code

    with_cluster(life, brokers=2)


@pytest.mark.parametrize("claimed", [ADMIN, BROKER, BROKER_ITSELF])
def test_a_client_cannot_forward_in_the_name_of_another(claimed: str) -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await cluster.allow(ALICE, Operation.ALTER, ResourceType.CLUSTER)
        metadata = cluster.services().metadata
        frame = b"".join(write_request(ApiKey.CREATE_TOPICS, 7, 1, "x", create("orders")))[4:]  # type: ignore[arg-type]
        [sender] = metadata.image.brokers.values()
        forged = ForwardRequest(
            cluster_id=metadata.image.cluster_id,
            principal=claimed,
            request_data=frame,
            broker_id=sender.id,
            incarnation=sender.incarnation,
            term=metadata.term,
        )
        answer = await cluster.ask(cluster.connection(ALICE, BROKERS), ApiKey.FORWARD, forged)
        assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        with pytest.raises(ProtocolError):
            await cluster.ask(ALICE, ApiKey.FORWARD, forged)
        assert not metadata.image.topics
        # It is the sender that is refused, not the request.
        await cluster.ask(cluster.connection(BROKER, BROKERS), ApiKey.FORWARD, forged)
        assert set(metadata.image.topics) == {"orders"}

    with_cluster(life)


@pytest.mark.parametrize("sample", between_brokers.SAMPLES, ids=str)
def test_requests_of_brokers_are_not_taken_on_a_listener_of_clients(sample: Sample) -> None:
    """Not even from a broker's principal."""

    async def life(cluster: AuthorizedCluster) -> None:
        with pytest.raises(ProtocolError, match="for brokers"):
            await cluster.ask(BROKER, sample.key, sample.request, sample.version)

    with_cluster(life)


@pytest.mark.parametrize("sample", between_brokers.STATE_SAMPLES, ids=str)
def test_the_state_of_share_groups_is_refused_on_a_listener_of_clients(sample: Sample) -> None:
    """Not even a broker's principal reads or changes it there, with an authorizer or without."""

    async def life(cluster: AuthorizedCluster) -> None:
        sent = await cluster.ask(BROKER, sample.key, sample.request, sample.version)
        assert codes_of(sent) == {ErrorCode.CLUSTER_AUTHORIZATION_FAILED}
        cluster.services().authorizer = None
        sent = await cluster.ask(ALICE, sample.key, sample.request, sample.version)
        assert codes_of(sent) == {ErrorCode.CLUSTER_AUTHORIZATION_FAILED}
        assert "__share_group_state" not in cluster.services().metadata.image.topics

    with_cluster(life)


def codes_of(answer: Message) -> set[int]:
    """The error codes of the innermost messages."""
    inner = [
        each
        for name in answer.__struct_fields__
        if isinstance(value := getattr(answer, name), list)
        for each in value
        if isinstance(each, Message)
    ]
    return set().union(*map(codes_of, inner)) if inner else {answer.error_code}  # type: ignore[attr-defined]


def test_a_broker_creates_internal_topics_on_its_own_account() -> None:
    """The client that needs a coordinator may not create topics, and need not."""

    async def life(cluster: AuthorizedCluster) -> None:
        await cluster.allow(ALICE, Operation.DESCRIBE, ResourceType.GROUP, "readers")
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=["readers"])
        broker = other_than_controller(cluster)
        await cluster.ask(ALICE, ApiKey.FIND_COORDINATOR, request, broker=broker)
        await cluster.until(
            lambda: "__consumer_offsets" in cluster.services().metadata.image.topics, "the topic exists"
        )

    with_cluster(life, brokers=2)
