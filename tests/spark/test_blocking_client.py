"""The blocking client on real sockets: a real broker, and scripted ones that ask for TLS and SASL."""

import base64
import hashlib
import hmac
import pickle
import ssl
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.spark.broker_topics import Topics
from tests.spark.scripted_broker import ScriptedBroker
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.blocking.attempts import Limits
from tidelog.blocking.cluster import GROUP, TRANSACTION, Cluster, TopicPartition
from tidelog.blocking.connection import Connection
from tidelog.blocking.errors import BrokersUnreachable, Disconnected, SecurityError
from tidelog.blocking.log_bounds import LogBounds
from tidelog.blocking.producer import Outgoing, Producer
from tidelog.blocking.security import Sasl, Security, Tls
from tidelog.blocking.settings import ClusterSettings
from tidelog.blocking.transactions import TransactionCalls
from tidelog.testing import Broker
from tidelog.wire.messages.init_producer_id import InitProducerIdRequest
from tidelog.wire.messages.metadata import MetadataRequest, MetadataResponse
from tidelog.wire.messages.offset_fetch import OffsetFetchRequest
from tidelog.wire.messages.sasl_authenticate import SaslAuthenticateResponse
from tidelog.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from tidelog.wire.record import Record, write_batch


def connected(broker: Broker, **limits: float) -> Cluster:
    settings = ClusterSettings(("localhost:1", broker.bootstrap_servers), limits=Limits(**limits))
    return Cluster(pickle.loads(pickle.dumps(settings)))  # as it comes to an executor


def test_finds_leaders_bounds_and_coordinators(broker: Broker, topics: Topics) -> None:
    name = topics.create(3)
    topics.fill(name, [b"x"] * 5, partition=1)
    with connected(broker) as cluster:
        assert set(cluster.topics([name, "nothing-here"])) == {name}
        assert cluster.leader(TopicPartition(name, 2)) in {1}
        places = [TopicPartition(name, index) for index in range(3)]
        bounds = LogBounds(cluster, read_committed=True)
        assert list(bounds.latest(places).values()) == [0, 5, 0]
        assert list(bounds.earliest(places).values()) == [0, 0, 0]
        begun = cluster.call_coordinator(
            TRANSACTION, name, InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=1000)
        )
        assert begun.producer_id >= 0
        assert cluster.coordinator(GROUP, "some-group") == 1
        with pytest.raises(KafkaError, match="UNKNOWN_TOPIC_OR_PARTITION"):
            cluster.topic("nothing-here")


def test_goes_on_after_a_broker_restarted(topics: Topics) -> None:
    with Broker() as broker:
        name = Topics(broker).create()
        with connected(broker) as cluster:
            before = cluster.topics([name])
            broker.restart()
            assert cluster.topics([name]) == before
            assert LogBounds(cluster, read_committed=False).latest([TopicPartition(name, 0)])


def test_brokers_that_stay_away_are_named_after_the_time(broker: Broker) -> None:
    settings = ClusterSettings(("localhost:1", "localhost:2"), limits=Limits(total_s=1.5))
    with (
        Cluster(settings) as cluster,
        pytest.raises(BrokersUnreachable, match=r"1\.5 s \(localhost:1.*localhost:2"),
    ):
        cluster.topics()


def test_an_answer_that_does_not_come_ends_the_connection() -> None:
    import time

    def slow(_: Any) -> MetadataResponse:
        time.sleep(0.5)
        return MetadataResponse()

    with ScriptedBroker(slow) as scripted:
        connection = Connection("127.0.0.1", scripted.port)
        with pytest.raises(
            Disconnected, match=f"127.0.0.1:{scripted.port}: Metadata was not answered: timed out"
        ):
            connection.call(MetadataRequest(), timeout_s=0.1)
        assert connection.is_closed


def test_a_call_does_not_take_the_answer_of_an_earlier_request() -> None:
    answers = iter("abc")
    with ScriptedBroker(lambda _: MetadataResponse(cluster_id=next(answers))) as scripted:
        connection = Connection("127.0.0.1", scripted.port)
        connection.send(MetadataRequest())
        connection.send(MetadataRequest())
        assert connection.call(MetadataRequest()).cluster_id == "c"
        assert [connection.receive().cluster_id for _ in range(2)] == ["a", "b"]
        connection.close()


def test_a_producer_meets_a_new_topic_while_records_are_under_way(broker: Broker, topics: Topics) -> None:
    """As a sink does whose rows name their topics: a later part may be the first with some topic."""
    with connected(broker) as cluster:
        producer = Producer(cluster, TransactionCalls(cluster).producer_id(), Limits())
        places = [TopicPartition(topics.create(), 0) for _ in range(3)]
        for place in places:
            batch = write_batch(
                [Record(0, 1, None, b"x")],
                producer_id=producer.identity.producer_id,
                producer_epoch=producer.identity.epoch,
                base_sequence=producer.reserve(place, 1),
            )
            producer.send([Outgoing(place, batch)])
        producer.flush()
        assert set(LogBounds(cluster, read_committed=False).latest(places).values()) == {1}


def test_a_version_that_nobody_shares_is_told() -> None:
    with ScriptedBroker(lambda _: None) as scripted:
        connection = Connection("127.0.0.1", scripted.port)
        with pytest.raises(KafkaError, match="does not offer OffsetFetch"):
            connection.call(OffsetFetchRequest())


def test_an_old_broker_is_asked_for_its_versions_again() -> None:
    with ScriptedBroker(lambda _: MetadataResponse(cluster_id="c"), api_versions_max=2) as scripted:
        connection = Connection("127.0.0.1", scripted.port)
        assert connection.call(MetadataRequest()).cluster_id == "c"
        connection.close()


def test_a_connection_that_the_broker_closed_is_stale() -> None:
    with ScriptedBroker(lambda _: MetadataResponse()) as scripted:
        connection = Connection("127.0.0.1", scripted.port)
        connection.call(MetadataRequest())
        assert not connection.is_stale
    assert connection.is_stale
    assert not connection.is_closed
    connection.close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of 127.0.0.1 with its key, in one file."""
    directory = tmp_path_factory.mktemp("tls")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test"
    files = ["-keyout", str(directory / "key.pem"), "-out", str(directory / "cert.pem")]
    names = ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command.split(), *files, *names], check=True, capture_output=True, timeout=60)
    both = directory / "both.pem"
    both.write_text((directory / "key.pem").read_text() + (directory / "cert.pem").read_text())
    return both


def test_tls_with_a_client_certificate(certificate: Path) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificate))
    context.load_cert_chain(certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    own, trusted = certificate.read_text(), str(certificate)
    with ScriptedBroker(lambda _: MetadataResponse(cluster_id="c"), context) as scripted:
        by_file = Tls(ca_file=trusted, certificate_file=trusted, key_file=trusted)
        by_text = Tls(ca_text=own, certificate_text=own, key_text=own)
        for tls in (by_file, by_text, pickle.loads(pickle.dumps(by_file))):
            connection = Connection("127.0.0.1", scripted.port, security=Security(tls))
            assert connection.call(MetadataRequest()).cluster_id == "c"
            connection.close()
        with pytest.raises(SecurityError, match=r"a certificate that is not trusted.*ssl\.truststore"):
            Connection("127.0.0.1", scripted.port, security=Security(Tls()))
        with pytest.raises(SecurityError, match="TLS cannot be set up"):
            Connection("127.0.0.1", scripted.port, security=Security(Tls(ca_file="/no/such.pem")))


class Scram:
    """The server's side, for user `me` with password `right`."""

    def __init__(self) -> None:
        self.first = self.challenge = ""

    def __call__(self, request: Any) -> Any:
        if isinstance(request, SaslHandshakeRequest):
            known = request.mechanism == "SCRAM-SHA-256"
            return SaslHandshakeResponse(error_code=0 if known else 33, mechanisms=["SCRAM-SHA-256"])
        if isinstance(request, MetadataRequest):
            return MetadataResponse(cluster_id="c")
        words = request.auth_bytes.decode()
        if words.startswith("n,,"):
            self.first = words[3:]
            self.challenge = (
                f"r={self.first.partition('r=')[2]}more,s={base64.b64encode(b'salt').decode()},i=4096"
            )
            return SaslAuthenticateResponse(auth_bytes=self.challenge.encode())
        salted = hashlib.pbkdf2_hmac("sha256", b"right", b"salt", 4096)
        without, _, proof = words.rpartition(",p=")
        message = f"{self.first},{self.challenge},{without}".encode()
        key = hmac.digest(salted, b"Client Key", "sha256")
        signature = hmac.digest(hashlib.sha256(key).digest(), message, "sha256")
        if bytes(a ^ b for a, b in zip(key, signature, strict=True)) != base64.b64decode(proof):
            code = ErrorCode.SASL_AUTHENTICATION_FAILED
            return SaslAuthenticateResponse(error_code=code, error_message="wrong password")
        server = hmac.digest(hmac.digest(salted, b"Server Key", "sha256"), message, "sha256")
        return SaslAuthenticateResponse(auth_bytes=b"v=" + base64.b64encode(server), session_lifetime_ms=1)


def test_sasl() -> None:
    with ScriptedBroker(Scram()) as scripted:
        right = Security(sasl=Sasl("SCRAM-SHA-256", "me", "right"))
        connection = Connection("127.0.0.1", scripted.port, security=right)
        assert connection.call(MetadataRequest()).cluster_id == "c"
        time.sleep(0.001)
        assert connection.is_stale, "its session has ended, so another one is opened"
        connection.close()
        with pytest.raises(SecurityError, match="refused me: wrong password"):
            Connection("127.0.0.1", scripted.port, security=Security(sasl=Sasl("SCRAM-SHA-256", "me", "no")))
        with pytest.raises(SecurityError, match="does not offer SASL PLAIN, but SCRAM-SHA-256"):
            Connection("127.0.0.1", scripted.port, security=Security(sasl=Sasl("PLAIN", "me", "right")))
