"""Contexts from settings, proven by handshakes in memory: who is believed, and which settings are refused."""

import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key, pkcs12
from cryptography.x509 import load_pem_x509_certificate

from tidelog.security.ssl_principal import distinguished_name
from tidelog.security.tls.authority import Authority, expires_at
from tidelog.security.tls.contexts import ClientAuth, TlsSettings, client_context, server_context
from tidelog.security.tls.material import InvalidTls, StoreSettings

NOW = datetime.now(UTC)
CA = Authority.new("Test CA", NOW)
OTHER_CA = Authority.new("Other CA", NOW)
BROKER = CA.issue("broker-1", NOW, hosts=["broker.example.com", "192.0.2.1"])
ALICE = CA.issue("alice", NOW, organization="Example")


def keys(issued, **changes):
    store = StoreSettings("ssl.keystore", key=issued.key.decode(), certificates=issued.certificate.decode())
    return store._replace(**changes)


def trust(authority=CA):
    return StoreSettings("ssl.truststore", certificates=authority.pem.certificate.decode())


NO_KEYS, NO_TRUST = StoreSettings("ssl.keystore"), StoreSettings("ssl.truststore")
SERVER = TlsSettings(keys(BROKER), trust())
CLIENT = TlsSettings(NO_KEYS, trust())


def handshake(server=SERVER, client=CLIENT, host="broker.example.com"):
    """The two ends after a handshake; SSLError where either refuses."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server_end = server_context(server).wrap_bio(to_server, to_client, server_side=True)
    client_end = client_context(client).wrap_bio(to_client, to_server, server_hostname=host)
    waiting = [client_end, server_end]
    for _ in range(10):
        for end in list(waiting):
            try:
                end.do_handshake()
                waiting.remove(end)
            except ssl.SSLWantReadError:
                continue
        if not waiting:
            break
    # In TLS 1.3 a client learns of the server's refusal with its first read.
    server_end.write(b"x")
    assert client_end.read(1) == b"x"
    return server_end, client_end


@pytest.mark.parametrize("host", ["broker.example.com", "192.0.2.1"])
@pytest.mark.parametrize("protocol", ["TLSv1.2", "TLSv1.3"])
def test_a_broker_is_believed_under_its_names(host, protocol) -> None:
    server_end, _ = handshake(SERVER._replace(protocols=(protocol,)), host=host)
    assert server_end.version() == protocol


@pytest.mark.parametrize(
    ("server", "client", "host"),
    [
        (SERVER, CLIENT, "other.example.com"),
        (SERVER, CLIENT._replace(trust_store=trust(OTHER_CA)), "broker.example.com"),
        (SERVER, CLIENT._replace(trust_store=NO_TRUST), "broker.example.com"),
        (
            SERVER._replace(key_store=keys(CA.issue("b", NOW - timedelta(9), hosts=["h"], days=1))),
            CLIENT,
            "h",
        ),
        (
            SERVER._replace(protocols=("TLSv1.3",)),
            CLIENT._replace(protocols=("TLSv1.2",)),
            "broker.example.com",
        ),
    ],
)
def test_a_broker_that_is_not_believed(server, client, host) -> None:
    with pytest.raises(ssl.SSLError):
        handshake(server, client, host)


def test_the_host_name_need_not_be_checked() -> None:
    handshake(client=CLIENT._replace(check_hostname=False), host="other.example.com")


@pytest.mark.parametrize("auth", [ClientAuth.REQUESTED, ClientAuth.REQUIRED])
def test_the_name_of_a_client(auth) -> None:
    server_end, _ = handshake(SERVER._replace(client_auth=auth), CLIENT._replace(key_store=keys(ALICE)))
    assert distinguished_name(server_end.getpeercert()["subject"]) == "CN=alice,O=Example"


def test_a_client_without_a_certificate() -> None:
    server_end, _ = handshake(SERVER._replace(client_auth=ClientAuth.REQUESTED))
    assert server_end.getpeercert() is None
    with pytest.raises(ssl.SSLError):
        handshake(SERVER._replace(client_auth=ClientAuth.REQUIRED))


def test_a_client_of_another_authority() -> None:
    stranger = CLIENT._replace(key_store=keys(OTHER_CA.issue("alice", NOW)))
    for auth in (ClientAuth.REQUESTED, ClientAuth.REQUIRED):
        with pytest.raises(ssl.SSLError):
            handshake(SERVER._replace(client_auth=auth), stranger)


@pytest.mark.parametrize(
    "suite", ["ECDHE-ECDSA-AES256-GCM-SHA384", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"]
)
def test_cipher_suites_under_both_names(suite) -> None:
    server_end, _ = handshake(SERVER._replace(protocols=("TLSv1.2",), cipher_suites=(suite,)))
    assert server_end.cipher()[0] == "ECDHE-ECDSA-AES256-GCM-SHA384"


def test_files_in_pem_and_pkcs12(tmp_path) -> None:
    pem = tmp_path / "broker.pem"
    pem.write_bytes(BROKER.key + BROKER.certificate)
    store = tmp_path / "broker.p12"
    store.write_bytes(
        pkcs12.serialize_key_and_certificates(
            b"broker",
            load_pem_private_key(BROKER.key, None),
            load_pem_x509_certificate(BROKER.certificate),
            None,
            BestAvailableEncryption(b"changeit"),
        )
    )
    authority = tmp_path / "ca.pem"
    authority.write_bytes(b"# the authority\n" + CA.pem.certificate)
    for key_store in (
        StoreSettings("ssl.keystore", str(pem)),
        StoreSettings("ssl.keystore", str(store), "changeit"),
    ):
        client = CLIENT._replace(trust_store=StoreSettings("ssl.truststore", str(authority)))
        handshake(SERVER._replace(key_store=key_store), client)
    with pytest.raises(InvalidTls, match=r"ssl\.keystore\.password opens"):
        server_context(SERVER._replace(key_store=StoreSettings("ssl.keystore", str(store), "wrong")))


def refused(tmp_path, content):
    file = tmp_path / "store"
    file.write_bytes(content)
    return SERVER._replace(key_store=StoreSettings("ssl.keystore", str(file)))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "neither PEM nor"),
        (b"\xfe\xed\xfe\xed\x00", "keytool"),
        (BROKER.certificate, "no private key"),
        (BROKER.key, "no certificate"),
        (BROKER.key + ALICE.certificate, "does not belong"),
        (BROKER.key + b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "cannot be used"),
    ],
)
def test_key_stores_that_are_refused(tmp_path, content, reason) -> None:
    with pytest.raises(InvalidTls, match=reason):
        server_context(refused(tmp_path, content))


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (SERVER._replace(key_store=NO_KEYS), r"ssl\.keystore\.location"),
        (SERVER._replace(key_store=StoreSettings("ssl.keystore", "/nowhere.pem")), "No such file"),
        (
            SERVER._replace(client_auth=ClientAuth.REQUIRED, trust_store=NO_TRUST),
            r"ssl\.truststore\.location",
        ),
        (SERVER._replace(protocols=("TLSv1.1",)), "TLSv1.2, TLSv1.3 or both"),
        (SERVER._replace(protocols=()), "ssl.enabled.protocols"),
        (SERVER._replace(cipher_suites=("ROT13",)), "OpenSSL knows none"),
        (
            SERVER._replace(
                client_auth=ClientAuth.REQUIRED,
                trust_store=StoreSettings("ssl.truststore", certificates="not a certificate"),
            ),
            "no certificate in PEM",
        ),
    ],
)
def test_settings_that_are_refused(settings, reason) -> None:
    with pytest.raises(InvalidTls, match=reason):
        server_context(settings)


def test_an_authority_that_was_kept_goes_on() -> None:
    kept = Authority.load(*CA.pem)
    handshake(SERVER._replace(key_store=keys(kept.issue("b", NOW, hosts=["h"]))), host="h")
    assert expires_at(kept.pem.certificate) > NOW + timedelta(days=3000)


def test_secrets_do_not_show() -> None:
    for value in (BROKER, keys(BROKER, password="hunter2"), SERVER):
        assert "PRIVATE" not in repr(value)
        assert "hunter2" not in repr(value)


def test_the_highest_version() -> None:
    server_end, _ = handshake(SERVER._replace(highest="TLSv1.2"))
    assert server_end.version() == "TLSv1.2"
    with pytest.raises(InvalidTls, match=r"ssl\.protocol=TLSv1\.2 is below every version"):
        server_context(SERVER._replace(highest="TLSv1.2", protocols=("TLSv1.3",)))


def test_a_store_is_of_the_type_that_the_settings_name(tmp_path) -> None:
    file = tmp_path / "broker.pem"
    file.write_bytes(BROKER.key + BROKER.certificate)
    store = StoreSettings("ssl.keystore", location=str(file))
    with pytest.raises(InvalidTls, match=r"is a PEM file, but ssl\.keystore\.type is PKCS12"):
        server_context(SERVER._replace(key_store=store._replace(kind="PKCS12")))
    with pytest.raises(InvalidTls, match="a file and a PEM text are both given"):
        server_context(SERVER._replace(key_store=keys(BROKER, location=str(file))))
    server_context(SERVER._replace(key_store=store._replace(kind="PEM")))


def test_cipher_suites_of_tls_1_3_alone_turn_1_2_off() -> None:
    suites = ("TLS_AES_256_GCM_SHA384",)
    server_end, _ = handshake(SERVER._replace(cipher_suites=suites))
    assert server_end.version() == "TLSv1.3"
    with pytest.raises(ssl.SSLError):
        handshake(SERVER._replace(cipher_suites=suites), CLIENT._replace(protocols=("TLSv1.2",)))
    both = (*suites, "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384")
    server_end, _ = handshake(SERVER._replace(cipher_suites=both), CLIENT._replace(protocols=("TLSv1.2",)))
    assert server_end.cipher()[0] == "ECDHE-ECDSA-AES256-GCM-SHA384"
    with pytest.raises(InvalidTls, match=r"suites of TLS 1\.3 alone"):
        server_context(SERVER._replace(cipher_suites=suites, protocols=("TLSv1.2",)))
