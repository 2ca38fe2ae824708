"""Metrics of certificates: when those of the TLS listeners end."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tidelog.metrics.collectors import Collector
from tidelog.metrics.families.connections import CERTIFICATE_EXPIRY
from tidelog.metrics.page import Page

if TYPE_CHECKING:  # brokers without TLS need not load it
    from tidelog.server.tls.tls_listener import TlsListener


def certificate_metrics(listeners: "Mapping[str, TlsListener]") -> Collector:
    def collect(page: Page) -> Iterator[None]:
        for name, listener in listeners.items():
            expires_at = listener.watched.expires_at
            if expires_at is not None:
                page.add(CERTIFICATE_EXPIRY, expires_at.timestamp(), name)
        yield

    return collect
