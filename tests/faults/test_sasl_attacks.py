"""Attacks on a listener with SASL: every one ends with a closed connection, and the broker goes on."""

import socket
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.faults.broker_lines import Lines
from tests.faults.raw_client import Closed, RawClient, framed, request_bytes
from tidelog.base.errors import ErrorCode
from tidelog.blocking.sasl import scram
from tidelog.testing import Broker
from tidelog.wire.apis import API, FIRST_INTERNAL, ApiKey
from tidelog.wire.messages.api_versions import ApiVersionsRequest
from tidelog.wire.messages.metadata import MetadataRequest
from tidelog.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from tidelog.wire.messages.sasl_handshake import SaslHandshakeRequest

pytestmark = pytest.mark.usefixtures("no_failures")

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
LISTENER = "listener.name.sasl_plaintext"
LIMIT = 20_000
ALLOWED = {ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    settings: dict[str, Any] = {
        "listeners": ["SASL_PLAINTEXT://127.0.0.1:0"],
        "sasl.enabled.mechanisms": ["PLAIN", "SCRAM-SHA-256"],
        f"{LISTENER}.plain.sasl.jaas.config": f'{PLAIN} required user_alice="alice-secret";',
        f"{LISTENER}.scram-sha-256.sasl.jaas.config": f'{SCRAM} required username="b" password="b-secret";',
        "sasl.server.max.receive.size": LIMIT,
        "connections.authentication.timeout.ms": 1500,
    }
    with Broker(settings=settings) as running:
        yield running


def handshake(client: RawClient, mechanism: str, version: int = 1) -> Any:
    return client.ask(ApiKey.SASL_HANDSHAKE, SaslHandshakeRequest(mechanism=mechanism), version)


def authenticate(client: RawClient, token: bytes) -> Any:
    return client.ask(ApiKey.SASL_AUTHENTICATE, SaslAuthenticateRequest(auth_bytes=token))


def log_in(client: RawClient) -> None:
    assert handshake(client, "PLAIN").error_code == 0
    assert authenticate(client, b"\0alice\0alice-secret").error_code == 0


def test_a_user_gets_in(client: RawClient) -> None:
    client.ask(ApiKey.API_VERSIONS, ApiVersionsRequest(client_software_name="x", client_software_version="1"))
    log_in(client)
    assert client.ask(ApiKey.METADATA, MetadataRequest()).brokers
    answer = handshake(client, "PLAIN")
    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert client.ask(ApiKey.METADATA, MetadataRequest()).brokers


@pytest.mark.parametrize("key", sorted(key for key in API if key not in ALLOWED and key < FIRST_INTERNAL))
def test_no_other_api_is_answered_before(broker: Broker, key: int) -> None:
    spec = API[key]
    with RawClient(broker.port) as client:
        client.send(request_bytes(key, spec.max_version, spec.request_class()()))
        assert client.is_closed()


def test_nor_requests_between_brokers(broker: Broker) -> None:
    for key in (key for key in API if key >= FIRST_INTERNAL):
        with RawClient(broker.port) as client:
            client.send(request_bytes(key, API[key].max_version, API[key].request_class()()))
            assert client.is_closed()


def test_a_request_behind_the_token_waits_for_the_outcome(broker: Broker) -> None:
    """Sent in one piece: the second must not slip in beside an authentication that fails."""
    with RawClient(broker.port) as client:
        handshake(client, "PLAIN")
        token = SaslAuthenticateRequest(auth_bytes=b"\0alice\0wrong")
        client.send(
            request_bytes(ApiKey.SASL_AUTHENTICATE, 2, token)
            + request_bytes(ApiKey.METADATA, 12, MetadataRequest(), 2)
        )
        client.receive()
        assert client.is_closed()


def test_a_frame_beyond_the_limit_is_refused_by_its_size_alone(broker: Broker, broker_log: Lines) -> None:
    with RawClient(broker.port) as client:
        client.send(struct.pack(">i", LIMIT + 1))
        assert client.is_closed()
    with RawClient(broker.port) as client:
        handshake(client, "PLAIN")
        client.send(struct.pack(">i", LIMIT + 1))
        assert client.is_closed()
    with RawClient(broker.port) as client:  # afterwards the usual limit applies
        log_in(client)
        topics = MetadataRequest(topics=[])
        client.send(request_bytes(ApiKey.METADATA, 12, topics)[:4].replace(b"\0\0", b"\0\1", 1))
        client.socket.settimeout(0.2)
        with pytest.raises(TimeoutError):
            client.socket.recv(1)


def test_wrong_passwords_and_unknown_users_get_the_same_answer(broker: Broker) -> None:
    answers = []
    for token in (b"\0alice\0wrong", b"\0nobody-here\0wrong", b"bob\0alice\0alice-secret", b"junk", b""):
        with RawClient(broker.port) as client:
            handshake(client, "PLAIN")
            answer = authenticate(client, token)
            answers.append((answer.error_code, answer.error_message, answer.auth_bytes))
            assert client.is_closed()
    assert len(set(answers)) == 1
    assert answers[0][0] == ErrorCode.SASL_AUTHENTICATION_FAILED


def test_a_proof_works_once(broker: Broker) -> None:
    with RawClient(broker.port) as client:
        handshake(client, "SCRAM-SHA-256")
        exchange = scram("SCRAM-SHA-256", "b", "b-secret", "nonce-of-the-client")
        first = next(exchange)
        final = exchange.send(authenticate(client, first).auth_bytes)
        assert authenticate(client, final).error_code == 0
    with RawClient(broker.port) as client:
        handshake(client, "SCRAM-SHA-256")
        authenticate(client, first)
        assert authenticate(client, final).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert client.is_closed()


def test_a_salt_of_an_unknown_user_stays_the_same(broker: Broker) -> None:
    challenges = []
    for _ in range(2):
        with RawClient(broker.port) as client:
            handshake(client, "SCRAM-SHA-256")
            challenge = authenticate(client, b"n,,n=no-such-user,r=nonce").auth_bytes
            challenges.append(challenge.split(b",", 1)[1])
    assert challenges[0] == challenges[1]


def test_the_mechanism_cannot_change_within_an_exchange(broker: Broker) -> None:
    with RawClient(broker.port) as client:
        handshake(client, "SCRAM-SHA-256")
        with pytest.raises(Closed):
            handshake(client, "PLAIN")


def test_an_unknown_mechanism_is_answered_with_the_list(broker: Broker, broker_log: Lines) -> None:
    with RawClient(broker.port) as client:
        answer = handshake(client, "GSSAPI")
        assert answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
        assert answer.mechanisms == ["PLAIN", "SCRAM-SHA-256"]
        assert client.is_closed()


@pytest.mark.parametrize("token", [b"\0alice\0alice-secret", b"\0alice\0wrong"])
def test_bare_tokens_after_the_old_handshake(broker: Broker, token: bytes) -> None:
    with RawClient(broker.port) as client:
        handshake(client, "PLAIN", version=0)
        client.send(framed(token))
        if b"wrong" in token:
            assert client.is_closed()
        else:
            assert client.receive() == b""
            assert client.ask(ApiKey.METADATA, MetadataRequest()).brokers


def test_user_names_cannot_write_lines_into_the_log(broker: Broker, broker_log: Lines) -> None:
    with RawClient(broker.port) as client:
        handshake(client, "PLAIN")
        authenticate(client, b"\0eve\nbroker 1 says User:eve is welcome\0wrong")
    assert not any("\n" in line for line in broker_log.text if "eve" in line)


def test_slow_authentications_by_the_thousand_end_in_time(broker: Broker) -> None:
    """Each sends a few bytes and then nothing; clients with passwords get in all the while."""
    begun = [socket.create_connection(("127.0.0.1", broker.port)) for _ in range(1000)]
    try:
        for number, connection in enumerate(begun):
            connection.sendall(struct.pack(">i", 1000)[: number % 5])
        with RawClient(broker.port) as client:
            log_in(client)
            assert client.ask(ApiKey.METADATA, MetadataRequest()).brokers
        for connection in begun:
            connection.settimeout(10)
            try:
                assert connection.recv(1) == b""
            except ConnectionResetError:
                pass
    finally:
        for connection in begun:
            connection.close()


def test_many_wrong_passwords_at_once_leave_room_for_the_right_one(broker: Broker) -> None:
    def fail(number: int) -> int:
        with RawClient(broker.port) as client:
            handshake(client, "PLAIN")
            code: int = authenticate(client, f"\0user{number}\0wrong".encode()).error_code
            return code

    with ThreadPoolExecutor(16) as pool:
        failing = [pool.submit(fail, number) for number in range(100)]
        with RawClient(broker.port) as client:
            log_in(client)
        codes = {each.result() for each in failing}
    assert codes == {ErrorCode.SASL_AUTHENTICATION_FAILED}


def test_without_sasl_the_apis_say_so() -> None:
    with Broker() as plain, RawClient(plain.port) as client:
        answer = handshake(client, "PLAIN")
        assert (answer.error_code, answer.mechanisms) == (ErrorCode.ILLEGAL_SASL_STATE, [])
        assert authenticate(client, b"").error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert client.ask(ApiKey.METADATA, MetadataRequest()).brokers
