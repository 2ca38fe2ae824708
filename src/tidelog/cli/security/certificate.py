"""What a certificate says: the name, the hosts, and how long it is valid."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tidelog.cli.exits import CliError
from tidelog.cli.security.files import read_private
from tidelog.cli.security.issuing import without_cryptography


@dataclass(frozen=True, slots=True)
class CertificateFacts:
    name: str
    issuer: str
    hosts: tuple[str, ...]
    begins: datetime
    ends: datetime

    def days_left(self, now: datetime) -> int:
        return int((self.ends - now).total_seconds() // 86400)

    def as_json(self, now: datetime) -> dict[str, Any]:
        return {
            "name": self.name,
            "issuer": self.issuer,
            "hosts": list(self.hosts),
            "valid_from": self.begins.isoformat(),
            "valid_until": self.ends.isoformat(),
            "days_left": self.days_left(now),
        }


def certificate_in(path: Path) -> CertificateFacts:
    """The first certificate of a PEM file."""
    return facts_of(read_private(path), str(path))


def facts_of(data: bytes, place: str) -> CertificateFacts:
    """Of a certificate in PEM or DER form."""
    try:
        from cryptography import x509
    except ImportError as error:
        raise without_cryptography() from error
    try:
        begin = data.find(b"-----BEGIN CERTIFICATE-----")
        certificate = (
            x509.load_pem_x509_certificate(data[begin:])
            if begin >= 0
            else x509.load_der_x509_certificate(data)
        )
    except ValueError as error:
        raise CliError(f"{place} holds no certificate: {error}.") from error
    return CertificateFacts(
        certificate.subject.rfc4514_string(),
        certificate.issuer.rfc4514_string(),
        tuple(_hosts(certificate)),
        certificate.not_valid_before_utc,
        certificate.not_valid_after_utc,
    )


def _hosts(certificate: Any) -> Iterable[str]:
    from cryptography import x509

    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return
    for name in names:
        yield str(name.value)
