"""A certificate authority for a cluster: makes its own key, and issues certificates to brokers and clients.

Keys are on the curve P-256, which is what makes handshakes cheap. Needs the extra `tidelog[secure]`.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple

from tidelog.security.tls.material import InvalidTls

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

AUTHORITY_DAYS = 3650
CERTIFICATE_DAYS = 397
_BACKDATED = timedelta(minutes=5)
"""So that a machine whose clock is a little behind accepts a certificate that is new."""


class Issued(NamedTuple):
    """In PEM."""

    key: bytes
    certificate: bytes

    def __repr__(self) -> str:
        return "Issued()"


class Authority:
    def __init__(self, key: "EllipticCurvePrivateKey", certificate: "x509.Certificate") -> None:
        self._key = key
        self._certificate = certificate

    @classmethod
    def new(cls, name: str, now: datetime) -> "Authority":
        from cryptography import x509
        from cryptography.hazmat.primitives.hashes import SHA256

        key = _new_key()
        subject = _name(name)
        certificate = (
            _builder(subject, subject, key, now, AUTHORITY_DAYS)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, SHA256())
        )
        return cls(key, certificate)

    @classmethod
    def load(cls, key: bytes, certificate: bytes) -> "Authority":
        from cryptography import x509
        from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        try:
            loaded = load_pem_private_key(key, None)
            authority = x509.load_pem_x509_certificate(certificate)
        except ValueError as error:
            raise InvalidTls(f"the authority's key or certificate cannot be read: {error}") from error
        if not isinstance(loaded, EllipticCurvePrivateKey):
            raise InvalidTls("the authority's key is not one that `tidelog security init` made")
        return cls(loaded, authority)

    @property
    def pem(self) -> Issued:
        return Issued(_key_pem(self._key), _certificate_pem(self._certificate))

    def issue(
        self,
        common_name: str,
        now: datetime,
        *,
        hosts: Sequence[str] = (),
        organization: str | None = None,
        days: float = CERTIFICATE_DAYS,
    ) -> Issued:
        """For a broker with the `hosts` that clients reach it under (names or addresses), or for a client."""
        from cryptography import x509
        from cryptography.hazmat.primitives.hashes import SHA256

        key = _new_key()
        builder = (
            _builder(_name(common_name, organization), self._certificate.subject, key, now, days)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(_purposes()), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
            )
        )
        if hosts:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False
            )
        certificate = builder.sign(self._key, SHA256())
        return Issued(_key_pem(key), _certificate_pem(certificate))


def expires_at(certificate: bytes) -> datetime:
    from cryptography import x509

    return x509.load_pem_x509_certificate(certificate).not_valid_after_utc


def _new_key() -> "EllipticCurvePrivateKey":
    try:
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError as error:
        raise InvalidTls("making certificates needs the extra: pip install 'tidelog[secure]'") from error
    return ec.generate_private_key(ec.SECP256R1())


def _builder(
    subject: "x509.Name", issuer: "x509.Name", key: "EllipticCurvePrivateKey", now: datetime, days: float
) -> "x509.CertificateBuilder":
    from cryptography import x509

    begins = now.astimezone(UTC) - _BACKDATED
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(now.astimezone(UTC) + timedelta(days=days))
    )


def _name(common_name: str, organization: str | None = None) -> "x509.Name":
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization)] if organization else []
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _usage(*, signs_certificates: bool) -> "x509.KeyUsage":
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _purposes() -> "list[x509.ObjectIdentifier]":
    from cryptography.x509.oid import ExtendedKeyUsageOID

    return [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]


def _host(text: str) -> "x509.GeneralName":
    from cryptography import x509

    try:
        return x509.IPAddress(ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _key_pem(key: "EllipticCurvePrivateKey") -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _certificate_pem(certificate: "x509.Certificate") -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM)
