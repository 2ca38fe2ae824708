"""A refusal for want of a permission names the permission, and the command that would grant it."""

import pytest
from confluent_kafka import KafkaError

from tidelog.clients.error_table import as_client_error
from tidelog.clients.errors import AuthorizationFailed
from tidelog.clients.permissions import Permission, acl_command, permission_of, principal_of

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
TOPIC, GROUP = "TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED"


@pytest.mark.parametrize(
    ("code", "what", "said", "permission"),
    [
        (TOPIC, "Creating topic 'orders'", "", Permission("Create", "topic", "orders")),
        (TOPIC, "Sending to topic 'orders', partition 0,", "", Permission("Write", "topic", "orders")),
        (
            TOPIC,
            "Reading",
            "Subscribed topic not available: orders: no",
            Permission("Read", "topic", "orders"),
        ),
        (GROUP, "Committing orders[0]", "", Permission("Read", "group", "")),
        (GROUP, "Deleting group 'g'", "", Permission("Delete", "group", "g")),
        ("CLUSTER_AUTHORIZATION_FAILED", "Sending to a[0]", "", Permission("Write", "topic", "a")),
        ("CLUSTER_AUTHORIZATION_FAILED", "The producer", "", Permission("Write", "topic", "")),
        ("CLUSTER_AUTHORIZATION_FAILED", "Describing the cluster", "", Permission("Describe", "cluster", "")),
    ],
)
def test_the_missing_permission(code: str, what: str, said: str, permission: Permission) -> None:
    assert permission_of(code, what, said) == permission


def test_other_errors_need_no_permission() -> None:
    assert permission_of("UNKNOWN_TOPIC_OR_PART", "Reading") is None


def test_an_error_says_the_command() -> None:
    error = as_client_error(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), "Sending to a b[0]")
    assert isinstance(error, AuthorizationFailed)
    assert "tidelog acl add --principal User:NAME --operation write --topic b" in error.what_to_do


@pytest.mark.parametrize(
    ("properties", "principal"),
    [
        ({}, "User:ANONYMOUS"),
        ({"security.protocol": "SASL_SSL", "sasl.username": "ann"}, "User:ann"),
        (
            {
                "security.protocol": "sasl_ssl",
                "sasl.jaas.config": f"{SCRAM} required username=bob password=x;",
            },
            "User:bob",
        ),
        ({"security.protocol": "sasl_ssl", "sasl.oauthbearer.token": "x"}, "User:NAME"),
        ({"security.protocol": "ssl"}, "User:ANONYMOUS"),
        ({"security.protocol": "ssl", "ssl.certificate.location": "c.pem"}, "User:NAME"),
    ],
)
def test_the_principal(properties: dict[str, str], principal: str) -> None:
    assert principal_of(properties) == principal


def test_the_command_is_one_for_a_shell() -> None:
    command = acl_command("User:ann b", ["Describe", "DescribeConfigs"], "group", "a b")
    assert command == (
        "tidelog acl add --principal 'User:ann b' --operation describe --operation describe-configs "
        "--group 'a b'"
    )
