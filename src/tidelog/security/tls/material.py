"""Keys and certificates, wherever they come from: PEM files, PEM texts in settings (KIP-651), PKCS12 files.

All of them become PEM in memory. Java's own JKS stores can be read by Java alone, and are refused with the
command that converts them.
"""

import re
from pathlib import Path
from typing import NamedTuple

from tidelog.base.errors import TidelogError

_JKS = b"\xfe\xed\xfe\xed"
_CERTIFICATES = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_KEYS = re.compile(rb"-----BEGIN ((?:[A-Z]+ )*PRIVATE KEY)-----.*?-----END \1-----", re.DOTALL)


class InvalidTls(TidelogError):
    """Keys or certificates that cannot be used: the text names the setting, the reason and the way out."""


class KeyMaterial(NamedTuple):
    """A private key with its certificate chain, in PEM."""

    key: bytes
    chain: bytes
    password: str | None = None

    def __repr__(self) -> str:
        return "KeyMaterial()"  # a log line must not carry the key


class StoreSettings(NamedTuple):
    """A key store or trust store as the settings describe it."""

    name: str
    """The start of its settings, such as `ssl.keystore`."""
    location: str | None = None
    password: str | None = None
    kind: str | None = None
    key: str | None = None
    """PEM, in place of a file."""
    certificates: str | None = None
    """PEM, in place of a file."""
    key_password: str | None = None

    def __repr__(self) -> str:
        return f"StoreSettings({self.name}, location={self.location})"


def key_material(store: StoreSettings) -> KeyMaterial:
    """Raises InvalidTls."""
    _check_one_place(store, store.key)
    if store.location is None:
        if not store.key or not store.certificates:
            raise InvalidTls(
                f"A TLS listener needs a key and a certificate: set {store.name}.location to a PEM or "
                f"PKCS12 file, or {store.name}.key and {store.name}.certificate.chain to PEM texts."
            )
        return _from_pem(store, store.key.encode() + b"\n" + store.certificates.encode(), "the texts")
    data = read_store(store)
    if is_pem(data):
        _check_kind(store, "PEM")
        return _from_pem(store, data, store.location)
    return _from_pkcs12(store, data)


def trusted_certificates(store: StoreSettings) -> bytes | None:
    """The authorities to trust, in PEM; None where the settings name none. Raises InvalidTls."""
    _check_one_place(store, store.certificates)
    if store.location is None:
        if not store.certificates:
            return None
        data, place = store.certificates.encode(), f"{store.name}.certificates"
    else:
        data, place = read_store(store), store.location
        if not is_pem(data):
            return _authorities_of_pkcs12(store, data)
        _check_kind(store, "PEM")
    found = _CERTIFICATES.findall(data)
    if not found:
        raise InvalidTls(f"{place} holds no certificate in PEM form (-----BEGIN CERTIFICATE-----).")
    return b"\n".join(found) + b"\n"


def _from_pem(store: StoreSettings, data: bytes, place: str) -> KeyMaterial:
    key, chain = _KEYS.search(data), _CERTIFICATES.findall(data)
    if key is None or not chain:
        missing = "private key" if key is None else "certificate"
        raise InvalidTls(
            f"{store.name}: there is no {missing} in {place}; a key store in PEM form holds both."
        )
    password = store.key_password or store.password
    if key[1] == b"ENCRYPTED PRIVATE KEY" and not password:
        raise InvalidTls(f"{store.name}: the key in {place} is encrypted: set ssl.key.password.")
    return KeyMaterial(key[0] + b"\n", b"\n".join(chain) + b"\n", password)


def _from_pkcs12(store: StoreSettings, data: bytes) -> KeyMaterial:
    key, certificate, others = _open_pkcs12(store, data)
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    if key is None or certificate is None:
        raise InvalidTls(f"{store.location} holds no private key with its certificate.")
    return KeyMaterial(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        b"".join(each.public_bytes(Encoding.PEM) for each in (certificate, *others)),
    )


def _authorities_of_pkcs12(store: StoreSettings, data: bytes) -> bytes:
    _, certificate, others = _open_pkcs12(store, data)
    from cryptography.hazmat.primitives.serialization import Encoding

    found = [each for each in (certificate, *others) if each is not None]
    if not found:
        raise InvalidTls(f"{store.location} holds no certificate.")
    return b"".join(each.public_bytes(Encoding.PEM) for each in found)


def _open_pkcs12(store: StoreSettings, data: bytes):  # type: ignore[no-untyped-def]  # types of an extra
    if data.startswith(_JKS):
        raise InvalidTls(
            f"{store.location} is a JKS store, which only Java can read. Convert it once: "
            f"keytool -importkeystore -srckeystore {store.location} -destkeystore store.p12 "
            "-deststoretype PKCS12"
        )
    _check_kind(store, "PKCS12")
    try:
        from cryptography.hazmat.primitives.serialization.pkcs12 import load_key_and_certificates
    except ImportError as error:
        raise InvalidTls(
            f"{store.location} is not a PEM file, and PKCS12 files need the extra: "
            "pip install 'tidelog[secure]'"
        ) from error
    try:
        return load_key_and_certificates(data, (store.password or "").encode() or None)
    except ValueError as error:
        raise InvalidTls(
            f"{store.location} is neither PEM nor a PKCS12 file that {store.name}.password opens: {error}"
        ) from error


def _check_one_place(store: StoreSettings, text: str | None) -> None:
    if store.location is not None and text:
        raise InvalidTls(f"{store.name}: a file and a PEM text are both given; keep one of them.")


def _check_kind(store: StoreSettings, kind: str) -> None:
    if store.kind is not None and store.kind != kind:
        raise InvalidTls(
            f"{store.location} is a {kind} file, but {store.name}.type is {store.kind}: set {kind}, or "
            "remove the setting."
        )


def read_store(store: StoreSettings) -> bytes:
    try:
        return Path(store.location or "").read_bytes()
    except OSError as error:
        raise InvalidTls(
            f"{store.name}.location={store.location} cannot be read: {error.strerror}."
        ) from error


def is_pem(data: bytes) -> bool:
    return b"-----BEGIN " in data
