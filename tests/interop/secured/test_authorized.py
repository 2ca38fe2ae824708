"""Refusals as users of librdkafka and Java see them, and that users with permissions can work."""

from collections.abc import Callable, Iterator
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ConfigResource,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from tests.interop.drivers.java import ToolFailed
from tests.interop.secured.clients import Login
from tests.interop.secured.conftest import Tool
from tidelog.base.settings.authorization import STANDARD_AUTHORIZER
from tidelog.testing import Broker

PATIENCE_S = 20.0
PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
VERIFIABLE_PRODUCER = "org.apache.kafka.tools.VerifiableProducer"
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
TOPICS = "org.apache.kafka.tools.TopicCommand"
ALLOWED = "alice"
"""May write and read topics whose names begin with `mine`, in groups of that name, and create them."""
REFUSED = "mallory"
"""May do nothing but use groups whose names begin with its own."""


class Guarded:
    """A broker with an authorizer: clients without authentication are administrators, users need ACLs."""

    def __init__(self, running: Broker) -> None:
        self.plain, self.sasl = running.bootstrap_servers.split(",")
        self.admin = AdminClient({"bootstrap.servers": self.plain})
        mechanism = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
        users = [UserScramCredentialUpsertion(name, mechanism, name.encode()) for name in (ALLOWED, REFUSED)]
        _done(self.admin.alter_user_scram_credentials(users))
        _done(
            self.admin.create_acls(
                [
                    AclBinding(
                        kind,
                        prefix,
                        ResourcePatternType.PREFIXED,
                        f"User:{user}",
                        "*",
                        AclOperation.ALL,
                        AclPermissionType.ALLOW,
                    )
                    for user, prefix, kind in (
                        (ALLOWED, "mine", ResourceType.TOPIC),
                        (ALLOWED, "mine", ResourceType.GROUP),
                        (ALLOWED, "mine", ResourceType.TRANSACTIONAL_ID),
                        (REFUSED, REFUSED, ResourceType.GROUP),
                    )
                ]
            )
        )
        for name in ("mine", "theirs"):
            _done(self.admin.create_topics([NewTopic(name, 1, 1)]))

    def properties(self, user: str, **more: Any) -> dict[str, Any]:
        return {
            "bootstrap.servers": self.sasl,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.username": user,
            "sasl.password": user,
        } | {key.replace("_", "."): value for key, value in more.items()}

    def login(self, user: str) -> Login:
        return Login(self.sasl, "SCRAM-SHA-256", user, user, None)


def _done(futures: dict[Any, Any]) -> None:
    for future in futures.values():
        future.result(PATIENCE_S)


@pytest.fixture(scope="module")
def guarded() -> Iterator[Guarded]:
    settings = {
        "listeners": ["PLAINTEXT://127.0.0.1:0", "SASL_PLAINTEXT://127.0.0.1:0"],
        "sasl.enabled.mechanisms": ["SCRAM-SHA-256"],
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": "User:ANONYMOUS",
        "auto.create.topics.enable": True,
    }
    with Broker(settings=settings) as running:
        yield Guarded(running)


def produced(guarded: Guarded, user: str, topic: str, **more: Any) -> KafkaError | None:
    reports: list[KafkaError | None] = []
    producer = confluent_kafka.Producer(guarded.properties(user, **more))
    producer.produce(topic, b"record", on_delivery=lambda error, _: reports.append(error))
    producer.flush(PATIENCE_S)
    assert len(reports) == 1
    return reports[0]


def consumed(guarded: Guarded, user: str, topic: str, group: str) -> confluent_kafka.Message:
    settings = guarded.properties(user, group_id=group, auto_offset_reset="earliest")
    consumer = confluent_kafka.Consumer(settings)
    try:
        consumer.subscribe([topic])
        message = consumer.poll(PATIENCE_S)
        assert message is not None
        return message
    finally:
        consumer.close()


def test_librdkafka_with_permissions(guarded: Guarded) -> None:
    assert produced(guarded, ALLOWED, "mine") is None
    assert produced(guarded, ALLOWED, "mine-new", enable_idempotence=True) is None, "created by its name"
    message = consumed(guarded, ALLOWED, "mine", "mine-readers")
    assert (message.error(), message.value()) == (None, b"record")
    admin = AdminClient(guarded.properties(ALLOWED))
    assert set(admin.list_topics(timeout=PATIENCE_S).topics) == {"mine", "mine-new"}
    _done(admin.create_topics([NewTopic("mine-2", 1, 1)]))
    _done(admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, "mine-2")]))
    _done(admin.delete_topics(["mine-2"]))


def test_librdkafka_in_a_transaction(guarded: Guarded) -> None:
    producer = confluent_kafka.Producer(guarded.properties(ALLOWED, transactional_id="mine-1"))
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    producer.produce("mine", b"in a transaction")
    producer.commit_transaction(PATIENCE_S)
    stranger = confluent_kafka.Producer(guarded.properties(REFUSED, transactional_id="mine-1"))
    with pytest.raises(KafkaException) as refused:
        stranger.init_transactions(PATIENCE_S)
    assert refused.value.args[0].code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


@pytest.mark.parametrize("topic", ["mine", "theirs", "invented"])
def test_librdkafka_without_permissions_on_a_topic(guarded: Guarded, topic: str) -> None:
    error = produced(guarded, REFUSED, topic)
    assert error is not None
    assert error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    message = consumed(guarded, REFUSED, topic, f"{REFUSED}s")
    assert message.error().code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_librdkafka_without_permissions_elsewhere(guarded: Guarded) -> None:
    message = consumed(guarded, REFUSED, "mine", "mine-readers")
    assert message.error().code() in (
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
    )
    error = produced(guarded, REFUSED, "mine", enable_idempotence=True)
    assert error is not None
    assert error.code() in (KafkaError.CLUSTER_AUTHORIZATION_FAILED, KafkaError.TOPIC_AUTHORIZATION_FAILED)
    admin = AdminClient(guarded.properties(REFUSED))
    assert not admin.list_topics(timeout=PATIENCE_S).topics
    topic = ConfigResource(ConfigResource.Type.TOPIC, "mine")
    broker = ConfigResource(ConfigResource.Type.BROKER, "1")
    calls: list[tuple[Callable[[], dict[Any, Any]], int]] = [
        (lambda: admin.create_topics([NewTopic("more", 1, 1)]), KafkaError.TOPIC_AUTHORIZATION_FAILED),
        (lambda: admin.delete_topics(["mine"]), KafkaError.TOPIC_AUTHORIZATION_FAILED),
        (lambda: admin.describe_configs([topic]), KafkaError.TOPIC_AUTHORIZATION_FAILED),
        (lambda: admin.describe_configs([broker]), KafkaError.CLUSTER_AUTHORIZATION_FAILED),
        (lambda: admin.delete_consumer_groups(["mine-readers"]), KafkaError.GROUP_AUTHORIZATION_FAILED),
    ]
    for call, code in calls:
        [future] = call().values()
        with pytest.raises(KafkaException) as refused:
            future.result(PATIENCE_S)
        assert refused.value.args[0].code() == code


def test_java_with_permissions(guarded: Guarded, tool: Tool) -> None:
    alice = guarded.login(ALLOWED)
    tool(alice, TOPICS, "--create", "--topic", "mine-java", "--partitions", "1")
    assert "mine-java" in tool(alice, TOPICS, "--list")
    assert "theirs" not in tool(alice, TOPICS, "--list")
    tool(alice, PRODUCER, "--topic", "mine-java", stdin="one\n")
    wanted = ["--topic", "mine-java", "--group", "mine-java", "--from-beginning", "--max-messages", "1"]
    assert tool(alice, CONSUMER, *wanted, "--timeout-ms", "20000") == "one\n"
    tool(alice, TOPICS, "--delete", "--topic", "mine-java")


def test_java_without_permissions(guarded: Guarded, tool: Tool) -> None:
    mallory = guarded.login(REFUSED)
    assert tool(mallory, TOPICS, "--list").strip() == ""
    with pytest.raises(ToolFailed, match="TopicAuthorizationException"):
        tool(mallory, TOPICS, "--create", "--topic", "more", "--partitions", "1")
    printed = tool(mallory, VERIFIABLE_PRODUCER, "--topic", "mine", "--max-messages", "1")
    assert "TopicAuthorizationException" in printed
    printed = tool(mallory, GROUPS, "--describe", "--group", "mine-readers")
    assert "GroupAuthorizationException" in printed
