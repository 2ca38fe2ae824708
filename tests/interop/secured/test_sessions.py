"""Sessions that end: clients authenticate again and go on, or are closed; and tokens that are refused."""

import logging
import time

import confluent_kafka
import jwt
import pytest

from tests.faults.raw_client import Closed, RawClient
from tests.interop.secured.broker import PASSWORD, REAUTH_MS, USER, SecuredBroker
from tests.interop.secured.clients import Login
from tests.interop.secured.conftest import Tool
from tests.rigs.identity_provider import AUDIENCE, ISSUER
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.metadata import MetadataRequest
from tidelog.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from tidelog.wire.messages.sasl_handshake import SaslHandshakeRequest

PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"
ENDED = "after its session had ended"


def test_librdkafka_authenticates_again(
    secured: SecuredBroker, topic_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": secured.short_sessions,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.username": USER,
            "sasl.password": PASSWORD,
        }
    )
    failed: list[object] = []
    with caplog.at_level(logging.INFO, "tidelog"):
        until = time.monotonic() + 2.5 * REAUTH_MS / 1000
        while time.monotonic() < until:
            producer.produce(topic_name, b"x", on_delivery=lambda error, _: error and failed.append(error))
            producer.flush(10)
            time.sleep(0.05)
    assert not failed
    assert ENDED not in caplog.text


def test_java_authenticates_again(
    secured: SecuredBroker, tool: Tool, topic_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    login = Login(secured.short_sessions, "SCRAM-SHA-512", USER, PASSWORD, None)
    rate = ["--num-records", "100", "--throughput", "20", "--record-size", "10"]
    with caplog.at_level(logging.INFO, "tidelog"):
        printed = tool(login, PERFORMANCE, "--topic", topic_name, *rate)
    assert "100 records sent" in printed
    assert ENDED not in caplog.text


def test_a_client_that_goes_on_without_is_closed(
    secured: SecuredBroker, caplog: pytest.LogCaptureFixture
) -> None:
    with RawClient(int(secured.short_sessions.rpartition(":")[2])) as client:
        client.ask(ApiKey.SASL_HANDSHAKE, SaslHandshakeRequest(mechanism="PLAIN"))
        token = SaslAuthenticateRequest(auth_bytes=f"\0{USER}\0{PASSWORD}".encode())
        answer = client.ask(ApiKey.SASL_AUTHENTICATE, token)
        assert answer.session_lifetime_ms == REAUTH_MS
        assert client.ask(ApiKey.METADATA, MetadataRequest()).brokers
        time.sleep(REAUTH_MS / 1000 + 0.1)
        with pytest.raises(Closed):
            client.ask(ApiKey.METADATA, MetadataRequest())
    assert ENDED in caplog.text


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://evil.example"},
        {"aud": "mail"},
        {"exp": 1},
        {"nbf": 4_000_000_000},
        {"sub": ""},
    ],
)
def test_a_token_that_is_not_for_this_broker(secured: SecuredBroker, claims: dict[str, object]) -> None:
    assert not _gets_in(secured, secured.provider.token(USER, **claims))


def test_a_token_that_the_provider_did_not_sign(secured: SecuredBroker) -> None:
    claims = {"sub": USER, "iss": ISSUER, "aud": AUDIENCE, "exp": 4_000_000_000}
    assert not _gets_in(secured, jwt.encode(claims, "", algorithm="none"))
    assert not _gets_in(secured, jwt.encode(claims, "a secret of the client's own" * 2, algorithm="HS256"))


def _gets_in(secured: SecuredBroker, token: str) -> bool:
    with RawClient(int(secured.sasl_plaintext.rpartition(":")[2])) as client:
        client.ask(ApiKey.SASL_HANDSHAKE, SaslHandshakeRequest(mechanism="OAUTHBEARER"))
        message = f"n,,\x01auth=Bearer {token}\x01\x01".encode()
        answer = client.ask(ApiKey.SASL_AUTHENTICATE, SaslAuthenticateRequest(auth_bytes=message))
        if answer.auth_bytes:
            final = SaslAuthenticateRequest(auth_bytes=b"\x01")
            assert client.ask(ApiKey.SASL_AUTHENTICATE, final).error_code == 58
            return False
        return bool(answer.error_code == 0)
