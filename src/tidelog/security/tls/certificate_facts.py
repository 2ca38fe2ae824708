"""Facts about a certificate for people: whose it is, and until when it is valid. Needs `tidelog[secure]`."""

from datetime import datetime
from typing import NamedTuple

from tidelog.security.tls.material import InvalidTls


class CertificateFacts(NamedTuple):
    subject: str
    valid_from: datetime
    expires_at: datetime

    def __str__(self) -> str:
        return f"{self.subject}, valid until {self.expires_at:%Y-%m-%d %H:%M} UTC"


def certificate_facts(chain: bytes) -> CertificateFacts:
    """Of the first certificate of a PEM chain, which is the broker's or client's own. Raises InvalidTls."""
    try:
        from cryptography import x509
    except ImportError as error:
        raise InvalidTls("reading certificates needs the extra: pip install 'tidelog[secure]'") from error
    try:
        certificate = x509.load_pem_x509_certificate(chain)
    except ValueError as error:
        raise InvalidTls(f"a certificate cannot be read: {error}") from error
    return CertificateFacts(
        certificate.subject.rfc4514_string() or "a certificate without a subject",
        certificate.not_valid_before_utc,
        certificate.not_valid_after_utc,
    )
