"""TLS listeners of a broker: what they refuse and what the log says of it, and new certificates."""

import asyncio
import shlex
import socket
import ssl
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from tests.faults.broker_lines import Lines
from tests.faults.raw_client import request_bytes
from tests.rigs.certificates import CertificateFiles
from tidelog.base.config.config import load
from tidelog.base.errors import TidelogError
from tidelog.security.tls.contexts import TlsSettings, client_context
from tidelog.security.tls.material import InvalidTls, StoreSettings
from tidelog.server import network_security
from tidelog.server.clock import SystemRandom
from tidelog.server.free_ports import free_ports
from tidelog.server.peer_connections.peer_network import PeerNetwork
from tidelog.server.peer_connections.tls import PeerTls
from tidelog.testing import Broker
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.api_versions import ApiVersionsRequest

DEADLINE_S = 20.0
ASK = request_bytes(ApiKey.API_VERSIONS, 3, ApiVersionsRequest(), 1)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> CertificateFiles:
    return CertificateFiles(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def secured(files: CertificateFiles) -> Iterator[Broker]:
    """With a TLS listener first, and a plain one."""
    patched = pytest.MonkeyPatch()
    patched.setattr(network_security, "LOOK_SECONDS", 0.2)
    settings = {
        "listeners": "SSL://localhost:{},PLAINTEXT://localhost:{}".format(*free_ports("127.0.0.1", 2)),
        "inter.broker.listener.name": "PLAINTEXT",
        **files.settings(files.issue("broker"), ssl_client_auth="requested"),
    }
    with Broker(settings=settings) as broker:
        yield broker
    patched.undo()


def ports(broker: Broker) -> tuple[int, int]:
    """Of the TLS listener, and of the plain one."""
    tls, plain = (int(address.rpartition(":")[2]) for address in str(broker.settings["listeners"]).split(","))
    return tls, plain


def context(files: CertificateFiles, keystore: str | None = None) -> ssl.SSLContext:
    keys = StoreSettings("ssl.keystore", location=keystore)
    return client_context(TlsSettings(keys, StoreSettings("ssl.truststore", location=files.trusted)))


def connect(broker: Broker, files: CertificateFiles, keystore: str | None = None) -> ssl.SSLSocket:
    sock = socket.create_connection(("localhost", ports(broker)[0]), timeout=DEADLINE_S)
    return context(files, keystore).wrap_socket(sock, server_hostname="localhost")


def is_served(sock: ssl.SSLSocket) -> bool:
    sock.sendall(ASK)
    return len(sock.recv(4)) > 0


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "this did not come true"
        time.sleep(0.02)


def expect_line(lines: Lines, text: str) -> None:
    wait_for(lambda: any(text in line for line in lines.text))


def test_plain_bytes_get_no_plain_answer(secured: Broker, broker_log: Lines) -> None:
    with socket.create_connection(("localhost", ports(secured)[0]), timeout=DEADLINE_S) as sock:
        sock.sendall(ASK)
        answer = sock.recv(1000)
    assert answer[:1] in (b"", b"\x15"), "nothing, or an alert of TLS"
    expect_line(broker_log, "sent plain text to a TLS port; its security.protocol should be SSL or SASL_SSL")


def test_tls_at_a_plain_port_is_logged(secured: Broker, files: CertificateFiles, broker_log: Lines) -> None:
    with (
        socket.create_connection(("localhost", ports(secured)[1]), timeout=DEADLINE_S) as sock,
        pytest.raises((ssl.SSLError, ConnectionError)),
    ):
        context(files).wrap_socket(sock, server_hostname="localhost")
    expect_line(broker_log, "sent a TLS hello to a plaintext listener")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_old_versions_are_refused(secured: Broker, broker_log: Lines) -> None:
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    old.set_ciphers("ALL:@SECLEVEL=0")
    with (
        socket.create_connection(("localhost", ports(secured)[0]), timeout=DEADLINE_S) as sock,
        pytest.raises(ssl.SSLError, match=r"(?i)protocol.version"),
    ):
        old.wrap_socket(sock)
    expect_line(broker_log, "offered only versions of TLS that ssl.enabled.protocols excludes")


def test_renegotiation_is_refused(secured: Broker, files: CertificateFiles) -> None:
    command = f"openssl s_client -tls1_2 -connect localhost:{ports(secured)[0]} -CAfile {files.trusted}"
    client = subprocess.run(
        shlex.split(command), input="R\n", capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )
    said = client.stdout + client.stderr
    assert "RENEGOTIATING" in said
    assert "no renegotiation" in said
    with connect(secured, files) as sock:
        assert is_served(sock)


@pytest.mark.parametrize("keystore", ["alice", "expired", "none"])
def test_a_requested_certificate_must_be_valid_if_it_is_sent(
    secured: Broker, files: CertificateFiles, broker_log: Lines, keystore: str
) -> None:
    path = None if keystore == "none" else files.issue(keystore, days=-1 if keystore == "expired" else 30)
    if keystore != "expired":
        with connect(secured, files, path) as sock:
            assert is_served(sock)
        return
    # In TLS 1.3 a client learns of it with its first read; it is told, not just cut off.
    with connect(secured, files, path) as sock, pytest.raises(ssl.SSLError, match="CERTIFICATE_EXPIRED"):
        is_served(sock)
    expect_line(broker_log, "sent a certificate that has expired; it needs a new one")


def test_a_new_certificate_file_counts_for_new_connections(
    secured: Broker, files: CertificateFiles, broker_log: Lines
) -> None:
    with connect(secured, files) as before:
        old = before.getpeercert(binary_form=True)
        files.issue("broker", organization="Renewed")
        expect_line(broker_log, "listener SSL: certificate of CN=broker,O=Renewed")
        with connect(secured, files) as after:
            assert after.getpeercert(binary_form=True) != old
            assert is_served(after)
        assert is_served(before), "connections made before go on"


def alter(broker: Broker, *entries: ConfigEntry) -> None:
    admin = AdminClient({"bootstrap.servers": f"localhost:{ports(broker)[1]}"})
    resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=list(entries))
    for done in admin.incremental_alter_configs([resource]).values():
        done.result(DEADLINE_S)


def test_a_dynamic_change_of_the_keystore(
    secured: Broker, files: CertificateFiles, broker_log: Lines
) -> None:
    setting = "listener.name.ssl.ssl.keystore.location"

    def to(path: str) -> ConfigEntry:
        return ConfigEntry(setting, path, incremental_operation=AlterConfigOpType.SET)

    alter(secured, to(files.issue("changed")))
    expect_line(broker_log, "listener SSL: certificate of CN=changed")
    with connect(secured, files) as sock:
        assert (sock.getpeercert() or {})["subject"] == ((("commonName", "changed"),),)
    alter(secured, to(str(files.directory / "missing.pem")))
    expect_line(broker_log, "the new keys or certificates cannot be used, and the previous ones stay")
    with connect(secured, files) as sock:
        assert (sock.getpeercert() or {})["subject"] == ((("commonName", "changed"),),)
        assert is_served(sock)
    alter(secured, ConfigEntry(setting, "", incremental_operation=AlterConfigOpType.DELETE))
    wait_for(lambda: served_name(secured, files) == "broker")


def served_name(broker: Broker, files: CertificateFiles) -> str:
    with connect(broker, files) as sock:
        return str((sock.getpeercert() or {})["subject"][-1][0][1])  # type: ignore[index]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, "listener SSL: A TLS listener needs a key and a certificate: set ssl.keystore.location"),
        ({"ssl.keystore.location": "/nowhere.pem"}, "cannot be read: No such file or directory"),
        ({"ssl.client.auth": "required"}, "needs the authority of the clients' certificates"),
        ({"ssl.principal.mapping.rules": "RULE:(/x/"}, "ssl.principal.mapping.rules"),
        ({"ssl.cipher.suites": "NONE-SUCH"}, "OpenSSL knows none of them"),
    ],
)
def test_a_broker_without_a_usable_certificate_does_not_start(
    files: CertificateFiles, settings: dict[str, str], reason: str
) -> None:
    usable = {"ssl.keystore.location": files.issue("usable")} if settings else {}
    with pytest.raises(TidelogError, match=reason.rsplit(":", maxsplit=1)[-1].strip().replace("(", r"\(")):
        Broker(settings={"listeners": "SSL://localhost:0", **usable, **settings}).start()


def test_without_the_extra_a_secured_broker_names_the_command(
    files: CertificateFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    keystore = files.issue("usable")
    for name in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(InvalidTls, match=r"pip install 'tidelog\[secure\]'"):
        Broker(settings={"listeners": "SSL://localhost:0", "ssl.keystore.location": keystore}).start()


PLAIN_BROKER = """
import sys
from tidelog.testing import Broker
with Broker(settings={"listeners": "PLAINTEXT://localhost:0"}):
    rooms = ("tidelog.server.tls.", "tidelog.security.tls.", "tidelog.server.network_security")
    print([name for name in sys.modules if name.startswith((*rooms, "cryptography", "jwt"))])
"""


def test_a_plain_broker_imports_nothing_of_tls(tmp_path: Path) -> None:
    """The ssl module itself is there with asyncio, which imports it."""
    broker = subprocess.run(
        [sys.executable, "-c", PLAIN_BROKER], capture_output=True, text=True, timeout=60, check=True
    )
    assert broker.stdout.strip() == "[]"


@pytest.mark.parametrize("speaks", ["plain", "tls"])
def test_brokers_with_different_protocols_say_so(
    secured: Broker, files: CertificateFiles, broker_log: Lines, speaks: str
) -> None:
    """This broker connects in plain text to a TLS listener, or the other way round."""
    tls_port, plain_port = ports(secured)

    async def ask() -> None:
        network = PeerNetwork(SystemRandom())
        if speaks == "tls":
            network.tls = PeerTls(
                load(flags={"listeners": "SSL://localhost:0", **files.settings(files.issue("peer"))})
            )
        connection = network.connect("localhost", tls_port if speaks == "plain" else plain_port)
        with pytest.raises(ConnectionError):
            await asyncio.wait_for(connection.call([ASK]), DEADLINE_S)
        await network.close()

    asyncio.run(ask())
    if speaks == "plain":  # what TLS says to that is nothing at all, so the other side has to log it
        expect_line(broker_log, f"on port {tls_port} sent plain text to a TLS port")
    else:
        expect_line(broker_log, f"to the broker at localhost:{plain_port}: it ended the TLS handshake")
