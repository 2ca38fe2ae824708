import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.rigs.certificates import CertificateFiles
from tidelog.base.config.config import load
from tidelog.security.tls.authority import Authority
from tidelog.security.tls.contexts import ClientAuth, TlsSettings, server_context
from tidelog.security.tls.from_config import tls_settings
from tidelog.security.tls.material import InvalidTls, StoreSettings
from tidelog.server.tls.watched_context import WatchedContext


@pytest.fixture
def files(tmp_path: Path) -> CertificateFiles:
    return CertificateFiles(tmp_path)


def settings(keystore: str, files: CertificateFiles) -> TlsSettings:
    return TlsSettings(
        StoreSettings("ssl.keystore", location=keystore),
        StoreSettings("ssl.truststore", location=files.trusted),
        client_auth=ClientAuth.REQUIRED,
    )


def test_a_new_file_makes_a_new_context(files: CertificateFiles, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    watched = WatchedContext("listener SSL", settings(files.issue("broker"), files), server_context)
    before = watched.context
    watched.refresh()
    assert watched.context is before
    files.issue("broker", organization="Renewed")
    watched.refresh()
    assert watched.context is not before
    assert "listener SSL: certificate of CN=broker,O=Renewed, valid until" in caplog.text


def test_a_new_authority_counts_too(files: CertificateFiles) -> None:
    watched = WatchedContext("listener SSL", settings(files.issue("broker"), files), server_context)
    assert len(watched.context.get_ca_certs()) == 1
    other = Authority.new("Other CA", datetime.now(UTC))
    with open(files.trusted, "ab") as file:
        file.write(other.pem.certificate)
    watched.refresh()
    assert len(watched.context.get_ca_certs()) == 2


@pytest.mark.parametrize("broken", ["half a file", "no file", "another key"])
def test_files_that_cannot_be_used_change_nothing_and_are_logged_once(
    files: CertificateFiles, caplog: pytest.LogCaptureFixture, broken: str
) -> None:
    keystore = Path(files.issue("broker"))
    other = Path(files.issue("other"))
    watched = WatchedContext("listener SSL", settings(str(keystore), files), server_context)
    before = watched.context
    if broken == "half a file":
        keystore.write_bytes(keystore.read_bytes()[:300])
    elif broken == "no file":
        keystore.unlink()
    else:
        _, _, certificate = keystore.read_text().partition("-----BEGIN CERTIFICATE")
        key, _, _ = other.read_text().partition("-----BEGIN CERTIFICATE")
        keystore.write_text(f"{key}-----BEGIN CERTIFICATE{certificate}")
    for _ in range(3):
        watched.refresh()
    assert watched.context is before
    errors = [record.message for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == 1
    assert "cannot be used, and the previous ones stay" in errors[0]
    files.issue("broker")
    watched.refresh()
    assert watched.context is not before


def test_new_settings_are_followed_and_tried_again_when_their_file_appears(files: CertificateFiles) -> None:
    watched = WatchedContext("listener SSL", settings(files.issue("one"), files), server_context)
    before = watched.context
    watched.follow(settings(str(files.directory / "two.pem"), files))
    watched.refresh()
    assert watched.context is before
    files.issue("two")
    watched.refresh()
    assert watched.context is not before


def test_a_context_that_cannot_be_made_at_first_is_an_error(files: CertificateFiles) -> None:
    with pytest.raises(InvalidTls, match=r"listener SSL: ssl\.keystore\.location=.*No such file"):
        WatchedContext("listener SSL", settings("/nowhere.pem", files), server_context)


@pytest.mark.parametrize(
    ("days", "words"), [(-1, "expired at"), (10, "expires at"), (30, None)], ids=["expired", "soon", "later"]
)
def test_a_certificate_that_ends_soon_is_logged_once_a_day(
    files: CertificateFiles, caplog: pytest.LogCaptureFixture, days: float, words: str | None
) -> None:
    watched = WatchedContext(
        "listener SSL", settings(files.issue("broker", days=days), files), server_context
    )
    watched.announce()
    watched.refresh()
    warnings = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == (0 if words is None else 1)
    if words is not None:
        assert f"listener SSL: the certificate of CN=broker {words}" in warnings[0]
        watched._warn(datetime.now(UTC) + timedelta(days=1, seconds=1))
        assert len(caplog.records) == 2


def test_settings_by_kafkas_names(files: CertificateFiles) -> None:
    config = load(
        flags={
            "listeners": "SSL://localhost:9093",
            "ssl.keystore.location": "/k.pem",
            "ssl.key.password": "secret",
            "listener.name.ssl.ssl.client.auth": "required",
            "ssl.truststore.certificates": "PEM",
            "ssl.protocol": "TLSv1.2",
            "ssl.endpoint.identification.algorithm": "",
            "ssl.cipher.suites": "A,B",
        }
    )
    found = tls_settings(config.for_listener("SSL"))
    assert found.client_auth is ClientAuth.REQUIRED
    assert (found.key_store.location, found.key_store.key_password) == ("/k.pem", "secret")
    assert found.trust_store.certificates == "PEM"
    assert (found.highest, found.check_hostname, found.cipher_suites) == ("TLSv1.2", False, ("A", "B"))
    assert "secret" not in repr(found)
