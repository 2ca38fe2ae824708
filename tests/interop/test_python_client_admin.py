"""The Python client's `Admin` against a real broker: topics, settings, offsets."""

import pytest

from tests.interop.client_calls import NOWHERE
from tidelog import (
    Admin,
    AdminConfig,
    ClientClosed,
    ConfigSource,
    ConnectionFailed,
    OffsetAt,
    Producer,
    ProducerConfig,
    RequestRefused,
    RequestTimedOut,
    TopicExists,
    TopicPartition,
    UnknownTopic,
    UsageError,
)


@pytest.fixture
def servers(broker_address: str) -> list[str]:
    return [broker_address]


@pytest.fixture
def place(topic: str) -> TopicPartition:
    return TopicPartition(topic, 0)


def test_the_life_of_a_topic(servers: list[str], topic_name: str) -> None:
    with Admin(AdminConfig(bootstrap_servers=servers)) as admin:
        assert admin.create_topic(
            topic_name, partitions=2, config={"retention.ms": 60_000, "preallocate": False}
        )
        assert not admin.create_topic(topic_name, if_not_exists=True)
        with pytest.raises(TopicExists):
            admin.create_topic(topic_name)
        assert topic_name in admin.list_topics()
        described = admin.describe_topic(topic_name)
        assert [part.partition for part in described.partitions] == [0, 1]
        assert described.places() == [TopicPartition(topic_name, 0), TopicPartition(topic_name, 1)]
        assert described.partitions[0].leader in {node.id for node in admin.describe_cluster().nodes}
        admin.add_partitions(topic_name, 3)
        assert len(admin.describe_topic(topic_name).partitions) == 3
        with pytest.raises(RequestRefused):
            admin.add_partitions(topic_name, 2)
        own = {name: each for name, each in admin.topic_config(topic_name).items() if each.is_own}
        assert own["retention.ms"].value == "60000"
        admin.alter_topic_config(topic_name, {"retention.ms": 5_000, "cleanup.policy": ["compact", "delete"]})
        settings = admin.topic_config(topic_name)
        assert (settings["retention.ms"].value, settings["retention.ms"].source) == (
            "5000",
            ConfigSource.TOPIC,
        )
        assert settings["cleanup.policy"].value == "compact,delete"
        admin.alter_topic_config(topic_name, unset=["retention.ms"])
        assert admin.topic_config(topic_name)["retention.ms"].value == "604800000"
        with pytest.raises(RequestRefused):
            admin.alter_topic_config(topic_name, {"retention.ms": "soon"})
        admin.delete_topics(topic_name)
        admin.delete_topics(topic_name, missing_ok=True)
        assert not admin.topic_exists(topic_name)
        with pytest.raises(UnknownTopic, match=topic_name):
            admin.describe_topic(topic_name)
    with pytest.raises(ClientClosed):
        admin.list_topics()


def test_validate_only_creates_nothing(servers: list[str], topic_name: str) -> None:
    with Admin(AdminConfig(bootstrap_servers=servers)) as admin:
        admin.create_topic(
            topic_name, assignment=[[admin.describe_cluster().nodes[0].id]], validate_only=True
        )
        assert not admin.topic_exists(topic_name)
        with pytest.raises(RequestRefused):
            admin.create_topic("not a name", validate_only=True)
        with pytest.raises(RequestRefused):
            admin.create_topic(topic_name, replication_factor=99)


def test_counts_that_make_no_topic(servers: list[str], topic_name: str) -> None:
    with Admin({"bootstrap.servers": servers[0]}) as admin:
        for counts in ({"partitions": 0}, {"replication_factor": 0}, {"partitions": 1, "assignment": [[1]]}):
            with pytest.raises(UsageError):
                admin.create_topic(topic_name, **counts)  # type: ignore[arg-type]
        assert not admin.topic_exists(topic_name)


def test_a_topic_that_is_to_be_deleted_need_not_be_created_first(servers: list[str], topic_name: str) -> None:
    with Admin(AdminConfig(bootstrap_servers=servers)) as admin:
        with pytest.raises(UnknownTopic) as caught:
            admin.delete_topics(topic_name)
        assert "create" not in caught.value.what_to_do
        assert "Admin.list_topics()" in caught.value.what_to_do


def test_offsets_by_edge_and_time(servers: list[str], place: TopicPartition) -> None:
    with Producer(ProducerConfig(bootstrap_servers=servers)) as producer:
        for time_ms in (1_000, 3_000, 2_000):
            producer.send(place.topic, "x", timestamp=time_ms)
    with Admin(AdminConfig(bootstrap_servers=servers)) as admin:

        def at(when: OffsetAt | int) -> int | None:
            return admin.list_offsets([place], when)[place].offset

        assert (at(OffsetAt.EARLIEST), at(OffsetAt.LATEST), at(OffsetAt.MAX_TIMESTAMP)) == (0, 3, 1)
        assert (at(1_500), at(9_999)) == (1, None)
        assert admin.list_offsets([]) == {}
        assert admin.delete_records({place: None}) == {place: 3}
        assert at(OffsetAt.EARLIEST) == 3
        with pytest.raises(UnknownTopic):
            admin.list_offsets([TopicPartition(place.topic, 99)])


def test_broker_settings(servers: list[str]) -> None:
    with Admin(AdminConfig(bootstrap_servers=servers)) as admin:
        node = admin.describe_cluster().nodes[0].id
        assert admin.broker_config(node)["log.segment.bytes"].value
        admin.alter_broker_config({"log.cleaner.threads": 2}, broker=node, validate_only=True)


def test_no_broker_to_administrate() -> None:
    with Admin(AdminConfig(bootstrap_servers=NOWHERE, request_timeout_ms=300)) as admin:
        for call in (admin.list_topics, admin.describe_cluster, lambda: admin.create_topic("t")):
            with pytest.raises((RequestTimedOut, ConnectionFailed)) as caught:
                call()
            assert caught.value.retriable
