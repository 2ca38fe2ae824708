"""Users by kafka-configs, delegation tokens by kafka-delegation-tokens."""

import re
import uuid

import pytest

from tests.interop.drivers.java import ToolFailed
from tests.interop.secured.broker import USER, SecuredBroker
from tests.interop.secured.clients import Login
from tests.interop.secured.conftest import Tool

CONFIGS = "kafka.admin.ConfigCommand"
TOKENS = "org.apache.kafka.tools.DelegationTokenCommand"
TOPICS = "org.apache.kafka.tools.TopicCommand"


def test_kafka_configs_manages_users(secured: SecuredBroker, tool: Tool) -> None:
    admin = secured.login()
    name = f"carol-{uuid.uuid4().hex[:8]}"
    carol = Login(secured.sasl_ssl, "SCRAM-SHA-512", name, "carol-secret", secured.ca)
    entity = ["--entity-type", "users", "--entity-name", name]
    added = "SCRAM-SHA-512=[iterations=8192,password=carol-secret]"
    printed = tool(admin, CONFIGS, "--alter", *entity, "--add-config", added)
    assert "Completed updating" in printed
    described = tool(admin, CONFIGS, "--describe", *entity)
    assert "SCRAM-SHA-512=iterations=8192" in described
    assert "carol-secret" not in described
    tool(carol, TOPICS, "--list")
    with pytest.raises(ToolFailed, match="Authentication failed"):
        tool(carol._replace(password="wrong"), TOPICS, "--list")
    with pytest.raises(ToolFailed, match="Authentication failed"):  # she has no such credential
        tool(carol._replace(mechanism="SCRAM-SHA-256"), TOPICS, "--list")
    tool(carol._replace(mechanism="PLAIN"), TOPICS, "--list")

    tool(admin, CONFIGS, "--alter", *entity, "--delete-config", "SCRAM-SHA-512")
    with pytest.raises(ToolFailed, match="Authentication failed"):
        tool(carol, TOPICS, "--list")


def test_kafka_delegation_tokens(secured: SecuredBroker, tool: Tool) -> None:
    owner = secured.login()
    printed = tool(owner, TOKENS, "--create", "--max-life-time-period", "-1")
    [(token_id, hmac)] = re.findall(r"^(\S{20,})\s+(\S{40,})\s+User:alice", printed, re.MULTILINE)
    job = Login(secured.sasl_ssl, "SCRAM-SHA-256", token_id, hmac, secured.ca)
    tool(job, TOPICS, "--list", token=True)
    with pytest.raises(ToolFailed, match="Authentication failed"):  # it is no user
        tool(job, TOPICS, "--list")
    with pytest.raises(ToolFailed, match="Authentication failed"):
        tool(job._replace(password=hmac[:-4] + "AAA="), TOPICS, "--list", token=True)
    with pytest.raises(ToolFailed, match="not allowed"):  # a token makes no tokens
        tool(job, TOKENS, "--create", "--max-life-time-period", "-1", token=True)

    described = tool(owner, TOKENS, "--describe", "--owner-principal", f"User:{USER}")
    assert token_id in described
    renewed = tool(owner, TOKENS, "--renew", "--hmac", hmac, "--renew-time-period", "1000000")
    assert "Completed renew" in renewed
    expired = tool(owner, TOKENS, "--expire", "--hmac", hmac, "--expiry-time-period", "-1")
    assert "Completed expire" in expired
    assert token_id not in tool(owner, TOKENS, "--describe", "--owner-principal", f"User:{USER}")
    with pytest.raises(ToolFailed, match="Authentication failed"):
        tool(job, TOPICS, "--list", token=True)
