"""Each refusal says what the other side did; proven with the errors that OpenSSL really raises."""

import ssl
from datetime import UTC, datetime, timedelta

import pytest

from tidelog.security.tls.authority import Authority
from tidelog.security.tls.contexts import ClientAuth, TlsSettings, client_context, server_context
from tidelog.security.tls.material import StoreSettings
from tidelog.server.tls.explanations import explain_broker, explain_client

NOW = datetime.now(UTC)
CA, OTHER_CA = Authority.new("Test CA", NOW), Authority.new("Other CA", NOW)
LONG_AGO = NOW - timedelta(days=10)


def keys(authority=CA, now=NOW, hosts=("broker",)):
    issued = authority.issue("broker", now, hosts=hosts, days=1)
    return StoreSettings("ssl.keystore", key=issued.key.decode(), certificates=issued.certificate.decode())


def trust(authority=CA):
    return StoreSettings("ssl.truststore", certificates=authority.pem.certificate.decode())


NO_KEYS = StoreSettings("ssl.keystore")
SERVER = TlsSettings(keys(), trust(), client_auth=ClientAuth.REQUIRED)
CLIENT = TlsSettings(keys(), trust())


def errors(server=SERVER, client=CLIENT, host="broker"):
    """What the server and the client raise, in that order; None for a side that is content."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        server_context(server).wrap_bio(to_server, to_client, server_side=True),
        client_context(client).wrap_bio(to_client, to_server, server_hostname=host),
    ]
    raised = [None, None]
    for _ in range(8):
        for number, end in enumerate(ends):
            try:
                if raised[number] is None:
                    end.do_handshake()
                    end.read(1)
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLError as error:
                raised[number] = error
    return raised


@pytest.mark.parametrize(
    ("server", "client", "of_client", "of_broker"),
    [
        (SERVER, CLIENT._replace(key_store=NO_KEYS), "sent no certificate", "it demands a certificate"),
        (
            SERVER,
            CLIENT._replace(key_store=keys(now=LONG_AGO)),
            "sent a certificate that has expired",
            "it says that this broker's certificate has expired",
        ),
        (
            SERVER,
            CLIENT._replace(key_store=keys(OTHER_CA)),
            "sent a certificate that ssl.truststore does not vouch for",
            "it does not trust this broker's certificate",
        ),
        (
            SERVER._replace(key_store=keys(now=LONG_AGO)),
            CLIENT,
            "says that this broker's certificate has expired",
            "its certificate has expired: replace the file of ssl.keystore.location there",
        ),
        (
            SERVER._replace(key_store=keys(OTHER_CA)),
            CLIENT,
            "does not trust this broker's certificate",
            "its certificate is not trusted",
        ),
        (
            SERVER._replace(key_store=keys(hosts=("elsewhere",))),
            CLIENT,
            "does not accept this broker's certificate",
            "its certificate is made out to another host: Hostname mismatch",
        ),
        (
            SERVER._replace(protocols=("TLSv1.3",)),
            CLIENT._replace(protocols=("TLSv1.2",)),
            "offered only versions of TLS that ssl.enabled.protocols excludes",
            "it shares no version of TLS with this broker",
        ),
        (
            SERVER._replace(key_store=keys(now=NOW + timedelta(days=3))),
            CLIENT,
            "does not accept this broker's certificate",
            "its certificate is not valid yet",
        ),
    ],
)
def test_both_sides_say_what_is_wrong(server, client, of_client, of_broker) -> None:
    by_server, by_client = errors(server, client)
    assert of_client in explain_client(by_server)
    assert of_broker in explain_broker(by_client)


def test_what_is_no_tls() -> None:
    to_server = ssl.MemoryBIO()
    end = server_context(SERVER).wrap_bio(to_server, ssl.MemoryBIO(), server_side=True)
    to_server.write(b"\0\0\0\x10\0\x12\0\3" + bytes(20))
    with pytest.raises(ssl.SSLError) as plain:
        end.do_handshake()
    assert "sent plain text to a TLS port" in explain_client(plain.value)
    to_client = ssl.MemoryBIO()
    end = client_context(CLIENT).wrap_bio(to_client, ssl.MemoryBIO(), server_hostname="broker")
    to_client.write(b"\0\0\0\x10\0\x12\0\3" + bytes(20))
    with pytest.raises(ssl.SSLError) as plain:
        end.do_handshake()
    assert "its listener does not speak TLS" in explain_broker(plain.value)
    assert "left during the TLS handshake" in explain_client(ConnectionResetError())
    assert "its listener may not speak TLS" in explain_broker(ssl.SSLEOFError())
    assert explain_client(ssl.SSLError("strange")).endswith("strange',)")
