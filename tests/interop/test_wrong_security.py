"""Clients with the wrong security.protocol, certificate or password fail at once, and say what would fit."""

import asyncio
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.interop.command_line import run_here
from tests.interop.guarded_listener import GuardedListener, server_tls
from tidelog import (
    Admin,
    AdminConfig,
    AsyncConsumer,
    AuthenticationFailed,
    ClientError,
    ConnectionFailed,
    Consumer,
    ConsumerConfig,
    Producer,
    ProducerConfig,
    TopicPartition,
    TransactionalProducer,
)
from tidelog.blocking.addresses import addresses_of
from tidelog.cli.exits import Exit
from tidelog.clients.listener_probe import find_listener
from tidelog.security.tls.authority import Authority

AT_ONCE_S = 5  # nothing is waited for: all that is left is a busy machine. The limits are 15 to 120 s.
PROTOCOLS = ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl")
CA = "ca.pem"
"""Stands for the file of the authority."""
SASL = {"sasl.mechanism": "PLAIN", "sasl.username": "ann", "sasl.password": "x"}


class Case(NamedTuple):
    listener: str
    properties: dict[str, str]
    says: str
    advises: str
    error: type[ClientError]
    exit: Exit


CASES = [
    Case(
        "plain",
        {"security.protocol": "ssl"},
        "speaks plain text, but the client speaks TLS",
        "security.protocol=plaintext",
        ConnectionFailed,
        Exit.UNREACHABLE,
    ),
    Case(
        "plain",
        {"security.protocol": "SASL_PLAINTEXT", **SASL},
        "speaks plain text, but the client speaks SASL over plain text",
        "security.protocol=plaintext",
        AuthenticationFailed,
        Exit.DENIED,
    ),
    Case(
        "tls",
        {},
        "speaks TLS, but the client speaks plain text",
        "security.protocol=ssl",
        ConnectionFailed,
        Exit.UNREACHABLE,
    ),
    Case(
        "tls",
        {"security.protocol": "ssl"},
        "comes from an authority that the client does not trust (certificate verify failed",
        "ssl.ca.location",
        ConnectionFailed,
        Exit.UNREACHABLE,
    ),
    Case(
        "expired",
        {"security.protocol": "ssl", "ssl.ca.location": CA},
        "has expired (certificate verify failed",
        "tidelog security cert renew",
        ConnectionFailed,
        Exit.UNREACHABLE,
    ),
    Case(
        "elsewhere",
        {"security.protocol": "SSL", "ssl.ca.location": CA},
        "is for another host name (certificate verify failed",
        "bootstrap.servers",
        ConnectionFailed,
        Exit.UNREACHABLE,
    ),
    Case(
        "mutual",
        {"security.protocol": "ssl", "ssl.ca.location": CA},
        "wants a certificate of the client, and the client shows none",
        "ssl.certificate.location",
        AuthenticationFailed,
        Exit.DENIED,
    ),
    Case(
        "sasl",
        {"security.protocol": "sasl_plaintext", **SASL, "sasl.mechanism": "SCRAM-SHA-256"},
        "does not offer the SASL mechanism of the client; it has: PLAIN",
        "sasl.mechanism=PLAIN",
        AuthenticationFailed,
        Exit.DENIED,
    ),
    Case(
        "sasl",
        {},
        "speaks SASL over plain text (PLAIN), but the client speaks plain text",
        "security.protocol=sasl_plaintext",
        AuthenticationFailed,
        Exit.DENIED,
    ),
    Case(
        "sasl",
        {"security.protocol": "sasl_plaintext", **SASL},
        "does not let the client in",
        "sasl.password",
        AuthenticationFailed,
        Exit.DENIED,
    ),
    Case(
        "sasl_tls",
        {},
        "speaks SASL over TLS (PLAIN), but the client speaks plain text",
        "security.protocol=sasl_ssl",
        AuthenticationFailed,
        Exit.DENIED,
    ),
]
each_case = pytest.mark.parametrize(
    "case",
    CASES,
    indirect=True,
    ids=lambda case: (
        f"{case.properties.get('security.protocol', 'plaintext')}-to-{case.listener}-{case.error.__name__}"
    ),
)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tls")


@pytest.fixture(scope="module")
def addresses(broker_address: str, certificates: Path) -> Iterator[dict[str, str]]:
    now = datetime.now(UTC)
    authority = Authority.new("test", now)
    (certificates / CA).write_bytes(authority.pem.certificate)
    here = ["127.0.0.1", "localhost"]
    tls = server_tls(certificates, authority.issue("broker", now, hosts=here))
    old = server_tls(certificates, authority.issue("broker", now - timedelta(days=9), hosts=here, days=2))
    other = server_tls(certificates, authority.issue("broker", now, hosts=["broker-1.example.net"]))
    mutual = server_tls(certificates, authority.issue("broker", now, hosts=here), authority.pem.certificate)
    with (
        GuardedListener(broker_address, tls=tls) as encrypted,
        GuardedListener(broker_address, tls=old) as expired,
        GuardedListener(broker_address, tls=other) as elsewhere,
        GuardedListener(broker_address, tls=mutual) as asking_back,
        GuardedListener(broker_address, sasl=True) as asking,
        GuardedListener(broker_address, tls=tls, sasl=True) as both,
    ):
        yield {
            "plain": broker_address,
            "tls": encrypted.address,
            "expired": expired.address,
            "elsewhere": elsewhere.address,
            "mutual": asking_back.address,
            "sasl": asking.address,
            "sasl_tls": both.address,
        }


def check(case: Case, call: Callable[[], Any]) -> None:
    began = time.monotonic()
    with pytest.raises(case.error) as caught:
        call()
    assert time.monotonic() - began < AT_ONCE_S
    assert case.says in caught.value.what
    name, _, value = case.advises.partition("=")
    assert name in caught.value.what_to_do
    assert value in caught.value.what_to_do
    assert not caught.value.retriable


@pytest.fixture
def case(request: pytest.FixtureRequest, certificates: Path) -> Case:
    given: Case = request.param
    if given.properties.get("ssl.ca.location") != CA:
        return given
    return given._replace(properties=given.properties | {"ssl.ca.location": str(certificates / CA)})


@each_case
def test_the_command_line(
    addresses: dict[str, str],
    case: Case,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flags = [flag for name, value in case.properties.items() for flag in ("-X", f"{name}={value}")]
    # The first two talk through librdkafka, the last through our own client.
    for command in (["topic", "list"], ["topic", "describe", "t"], ["cluster", "status"]):
        began = time.monotonic()
        done = run_here(capsys, monkeypatch, ["-b", addresses[case.listener], *command, *flags], b"", None)
        assert time.monotonic() - began < AT_ONCE_S
        assert done.code == case.exit
        assert case.says in done.err
        assert case.advises in done.err


def test_our_own_client_speaks_tls(
    addresses: dict[str, str],
    certificates: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    properties = ["security.protocol=ssl", f"ssl.ca.location={certificates / CA}"]
    flags = [flag for each in properties for flag in ("-X", each)]
    done = run_here(capsys, monkeypatch, ["-b", addresses["tls"], "cluster", "status", *flags], b"", None)
    assert done.code == Exit.OK, done.err
    assert "healthy" in done.out.lower()


@each_case
def test_admin(addresses: dict[str, str], case: Case) -> None:
    with Admin(AdminConfig(bootstrap_servers=addresses[case.listener], extra=case.properties)) as admin:
        check(case, admin.list_topics)
        check(case, lambda: admin.create_topic("t"))


@each_case
def test_a_producer(addresses: dict[str, str], case: Case) -> None:
    config = ProducerConfig(bootstrap_servers=addresses[case.listener], extra=case.properties)
    began = time.monotonic()
    with Producer(config) as producer:
        check(case, producer.send("t", "x").result)
        check(case, producer.send("t", "y").result)
    assert time.monotonic() - began < 2 * AT_ONCE_S, "closing waits for nothing"


@each_case
def test_a_consumer(addresses: dict[str, str], case: Case) -> None:
    config = ConsumerConfig(bootstrap_servers=addresses[case.listener], group_id="g", extra=case.properties)
    with Consumer(config) as consumer:
        consumer.subscribe(["t"])
        check(case, lambda: consumer.poll(60_000))
        check(case, lambda: consumer.watermarks(TopicPartition("t", 0)))


def test_a_transactional_producer(addresses: dict[str, str]) -> None:
    case = CASES[0]
    config = ProducerConfig(bootstrap_servers=addresses[case.listener], extra=case.properties)
    check(case, TransactionalProducer(config, transactional_id="t").__enter__)


def test_an_async_consumer(addresses: dict[str, str]) -> None:
    case = CASES[0]

    async def read() -> None:
        config = ConsumerConfig(
            bootstrap_servers=addresses[case.listener], group_id="g", extra=case.properties
        )
        async with AsyncConsumer(config) as consumer:
            await consumer.subscribe(["t"])
            async for message in consumer:
                pytest.fail(f"{message} came from nowhere")

    check(case, lambda: asyncio.run(read()))


@pytest.mark.parametrize(
    ("listener", "protocol"),
    [("plain", "plaintext"), ("tls", "ssl"), ("sasl", "sasl_plaintext"), ("sasl_tls", "sasl_ssl")],
)
def test_what_a_listener_speaks(addresses: dict[str, str], listener: str, protocol: str) -> None:
    [(host, port)] = addresses_of(addresses[listener])
    found = find_listener(host, port)
    assert found is not None
    assert [each for each in PROTOCOLS if found.fits(each)] == [protocol]


def test_no_listener_at_all() -> None:
    assert find_listener("127.0.0.1", 1) is None
