"""Delegation tokens over a cluster: made through any broker, good at every broker, and make no others."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.raw_client import RawClient, wait_until
from tests.rigs.secured_cluster import SecuredCluster
from tidelog.base.errors import ErrorCode
from tidelog.security.sasl.client import scram
from tidelog.testing import Broker
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest
from tidelog.wire.messages.describe_delegation_token import DescribeDelegationTokenRequest
from tidelog.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from tidelog.wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from tidelog.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from tidelog.wire.messages.sasl_handshake import SaslHandshakeRequest

pytestmark = pytest.mark.usefixtures("no_failures")

MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
CHECK_MS = 300


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredCluster]:
    settings = {
        "sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "sasl.jaas.config": f'{MODULE} required username="broker" password="between us";',
        "delegation.token.secret.key": "of all brokers",
        "delegation.token.expiry.check.interval.ms": str(CHECK_MS),
    }
    three = SecuredCluster(tmp_path_factory.mktemp("tokens"), lambda id: settings, "SASL_PLAINTEXT")
    three.start(1, 2, 3)
    yield three
    three.stop()


def log_in(port: int, name: str, password: str, *, is_token: bool = False) -> tuple[RawClient, Any]:
    client = RawClient(port)
    client.ask(ApiKey.SASL_HANDSHAKE, SaslHandshakeRequest(mechanism="SCRAM-SHA-256"))
    exchange = scram("SCRAM-SHA-256", name, password, "nonce", is_token=is_token)
    message = next(exchange)
    for _ in range(2):
        answer = client.ask(ApiKey.SASL_AUTHENTICATE, SaslAuthenticateRequest(auth_bytes=message))
        if answer.error_code:
            break
        try:
            message = exchange.send(answer.auth_bytes)
        except StopIteration:
            break
    return client, answer


@pytest.fixture
def ports(cluster: SecuredCluster) -> tuple[int, int]:
    """Of two brokers that are not the controller, so that their requests are forwarded."""
    first, second, *_ = (broker.port for broker in cluster.brokers.values() if not broker.is_controller)
    return first, second


def create(client: RawClient, **fields: Any) -> Any:
    return client.ask(ApiKey.CREATE_DELEGATION_TOKEN, CreateDelegationTokenRequest(**fields))


def test_a_token_made_at_one_broker_logs_in_at_another(ports: tuple[int, int]) -> None:
    client, _ = log_in(ports[0], "broker", "between us")
    token = create(client, max_lifetime_ms=60_000)
    assert (token.error_code, token.principal_name, token.max_timestamp - token.issue_timestamp) == (
        0,
        "broker",
        60_000,
    )
    password = base64.b64encode(token.hmac).decode()
    wait_until(
        lambda: log_in(ports[1], token.token_id, password, is_token=True)[1].error_code == 0, "the token"
    )
    job, answer = log_in(ports[1], token.token_id, password, is_token=True)
    assert 50_000 < answer.session_lifetime_ms <= 60_000

    for refused in (create(job), job.ask(ApiKey.DESCRIBE_DELEGATION_TOKEN, DescribeDelegationTokenRequest())):
        assert refused.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    described = client.ask(ApiKey.DESCRIBE_DELEGATION_TOKEN, DescribeDelegationTokenRequest())
    assert token.token_id in [each.token_id for each in described.tokens]

    renewed = client.ask(
        ApiKey.RENEW_DELEGATION_TOKEN, RenewDelegationTokenRequest(hmac=token.hmac, renew_period_ms=1000)
    )
    assert renewed.error_code == 0
    ended = client.ask(
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        ExpireDelegationTokenRequest(hmac=token.hmac, expiry_time_period_ms=-1),
    )
    assert ended.error_code == 0
    wait_until(
        lambda: (
            log_in(ports[1], token.token_id, password, is_token=True)[1].error_code
            == ErrorCode.SASL_AUTHENTICATION_FAILED
        ),
        "the end of the token",
    )


def test_the_controller_forgets_tokens_whose_time_is_over(
    cluster: SecuredCluster, ports: tuple[int, int]
) -> None:
    client, _ = log_in(ports[0], "broker", "between us")
    token = create(client, max_lifetime_ms=1)
    gone = client.ask(ApiKey.RENEW_DELEGATION_TOKEN, RenewDelegationTokenRequest(hmac=token.hmac))
    assert gone.error_code in (ErrorCode.DELEGATION_TOKEN_EXPIRED, ErrorCode.DELEGATION_TOKEN_NOT_FOUND)

    def renewed() -> int:
        request = RenewDelegationTokenRequest(hmac=token.hmac)
        return int(client.ask(ApiKey.RENEW_DELEGATION_TOKEN, request).error_code)

    wait_until(lambda: renewed() == ErrorCode.DELEGATION_TOKEN_NOT_FOUND, "the token to be forgotten")


def test_renewers_are_users_and_strangers_change_nothing(ports: tuple[int, int]) -> None:
    client, _ = log_in(ports[0], "broker", "between us")
    group = [CreatableRenewers(principal_type="Group", principal_name="x")]
    assert create(client, renewers=group).error_code == ErrorCode.INVALID_PRINCIPAL_TYPE
    stranger = ExpireDelegationTokenRequest(hmac=b"guessed", expiry_time_period_ms=-1)
    answer = client.ask(ApiKey.EXPIRE_DELEGATION_TOKEN, stranger)
    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND


def test_without_a_user_or_a_secret_there_are_no_tokens(tmp_path: Path) -> None:
    for secret, code in (
        ({}, ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED),
        ({"delegation.token.secret.key": "x"}, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED),
    ):
        with Broker(settings=secret) as plain, RawClient(plain.port) as client:
            assert create(client).error_code == code
