"""Clusters whose brokers meet over TLS or SASL: they replicate and fail over, and take no stranger in."""

import logging
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.rigs.certificates import CertificateFiles
from tests.rigs.secured_cluster import SecuredCluster
from tidelog.security.tls.authority import Authority
from tidelog.server import network_security

DEADLINE_S = 40.0


@pytest.fixture
def files(tmp_path: Path) -> CertificateFiles:
    return CertificateFiles(tmp_path / "certificates")


@pytest.fixture
def cluster(
    tmp_path: Path, files: CertificateFiles, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., SecuredCluster]]:
    monkeypatch.setattr(network_security, "LOOK_SECONDS", 0.2)
    made: list[SecuredCluster] = []

    def make(protocol: str = "SSL", **settings: str) -> SecuredCluster:
        def settings_of(id: int) -> dict[str, str]:
            path = files.directory / f"broker-{id}.pem"
            keystore = str(path) if path.exists() else files.issue(f"broker-{id}")
            return files.settings(keystore, ssl_client_auth="required", **settings)

        made.append(SecuredCluster(tmp_path, settings_of, protocol))
        return made[-1]

    yield make
    for each in made:
        each.stop()


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "this did not come true"
        time.sleep(0.05)


def producer(cluster: SecuredCluster, files: CertificateFiles, **properties: str) -> Producer:
    own = files.issue("client")
    return Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "security.protocol": "ssl",
            "ssl.ca.location": files.trusted,
            "ssl.certificate.location": own,
            "ssl.key.location": own,
            "acks": "all",
            "log_level": 0,
            **{name.replace("_", "."): value for name, value in properties.items()},
        }
    )


def produce(client: Producer, count: int = 50) -> None:
    failures: list[object] = []
    for number in range(count):
        client.produce("topic", b"%d" % number, on_delivery=lambda error, _: failures.append(error))
    assert client.flush(DEADLINE_S) == 0
    assert set(failures) == {None}


@pytest.mark.parametrize("event_loop", ["asyncio", "uvloop"])
def test_brokers_with_certificates_replicate_and_fail_over(
    cluster: Callable[..., SecuredCluster], files: CertificateFiles, event_loop: str
) -> None:
    three = cluster(event_loop=event_loop)
    three.start(1, 2, 3)
    client = producer(three, files)
    produce(client)
    controller = next(id for id, broker in three.brokers.items() if broker.is_controller)
    three.brokers[controller].kill()
    produce(client)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_brokers_log_in_at_each_other_over_tls_and_again_before_sessions_end(
    cluster: Callable[..., SecuredCluster], files: CertificateFiles, mechanism: str
) -> None:
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    jaas = (
        f'org.apache.kafka.common.security.{module} required username="broker" password="between us" '
        'user_broker="between us";'
    )
    three = cluster(
        "SASL_SSL",
        sasl_enabled_mechanisms=mechanism,
        sasl_mechanism_inter_broker_protocol=mechanism,
        sasl_jaas_config=jaas,
        connections_max_reauth_ms="1000",
    )
    three.start(1, 2, 3)
    login = {"sasl_mechanism": mechanism, "sasl_username": "broker", "sasl_password": "between us"}
    client = producer(three, files, security_protocol="sasl_ssl", **login)
    for _ in range(3):  # across several sessions
        produce(client)
        time.sleep(1)
    assert all(broker.is_running for broker in three.brokers.values())
    three.brokers[1].kill()
    produce(client)


def test_a_broker_whose_certificate_ran_out_joins_when_it_has_a_new_one(
    cluster: Callable[..., SecuredCluster], files: CertificateFiles, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    three = cluster()
    three.start(1, 2, 3)
    three.brokers[3].stop()
    files.issue("broker-3", days=-1)
    caplog.clear()
    [joining] = three.begin(3)
    wait_for(lambda: "sent a certificate that has expired; it needs a new one" in caplog.text)
    wait_for(lambda: "its certificate has expired: replace the file of ssl.keystore.location" in caplog.text)
    assert "listener SSL: the certificate of CN=broker-3 expired at" in caplog.text
    assert not joining.done()
    produce(producer(three, files))
    files.issue("broker-3")
    joining.result(DEADLINE_S)
    assert three.brokers[1].is_running
    assert three.brokers[2].is_running
    refusals = [text for text in caplog.messages if text.startswith("No secure connection")]
    assert len(refusals) <= 8, "once for each pair of brokers, not with every attempt"


def test_a_broker_of_another_authority_is_not_taken_in(
    cluster: Callable[..., SecuredCluster], files: CertificateFiles, caplog: pytest.LogCaptureFixture
) -> None:
    three = cluster()
    three.start(1, 2, 3)
    three.brokers[3].stop()
    files.issue("broker-3", authority=Authority.new("Another CA", datetime.now(UTC)))
    [joining] = three.begin(3)
    wait_for(lambda: "sent a certificate that ssl.truststore does not vouch for" in caplog.text)
    wait_for(lambda: "it does not trust this broker's certificate: add the authority" in caplog.text)
    produce(producer(three, files))
    assert not joining.done()
    files.issue("broker-3")
    joining.result(DEADLINE_S)
