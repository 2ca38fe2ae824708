"""The end of a listener's certificate is on the page, and follows a renewal."""

from datetime import datetime
from pathlib import Path

from tests.rigs.certificates import CertificateFiles
from tidelog.metrics.families.connections import CERTIFICATE_EXPIRY
from tidelog.metrics.page import Page
from tidelog.security.tls.contexts import ClientAuth, TlsSettings
from tidelog.security.tls.material import StoreSettings
from tidelog.server.metrics.certificates import certificate_metrics
from tidelog.server.tls.tls_listener import TlsListener


def expiry_on_the_page(listener: TlsListener) -> float:
    page = Page()
    for _ in certificate_metrics({"CLIENTS": listener})(page):
        pass
    [line] = page.lines[CERTIFICATE_EXPIRY]
    name, value = line.split(" ")
    assert name == 'tidelog_certificate_expiry_time_seconds{listener="CLIENTS"}'
    return float(value)


def test_the_page_says_when_the_certificate_ends(tmp_path: Path) -> None:
    files = CertificateFiles(tmp_path)
    settings = TlsSettings(
        StoreSettings("ssl.keystore", location=files.issue("broker")),
        StoreSettings("ssl.truststore", location=files.trusted),
        client_auth=ClientAuth.NONE,
    )
    listener = TlsListener(settings, name="CLIENTS")
    before = listener.watched.expires_at
    assert isinstance(before, datetime)
    assert expiry_on_the_page(listener) == before.timestamp()


def test_without_tls_there_is_no_such_line() -> None:
    page = Page()
    for _ in certificate_metrics({})(page):
        pass
    assert CERTIFICATE_EXPIRY not in page.lines
