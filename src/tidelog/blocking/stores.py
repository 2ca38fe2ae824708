"""Java's trust stores and key stores, as far as they can be read without Java: PEM, PKCS12, and PEM texts."""

from collections.abc import Mapping
from typing import NamedTuple

from tidelog.blocking.errors import SecurityError
from tidelog.security.tls.material import (
    InvalidTls,
    StoreSettings,
    is_pem,
    key_material,
    read_store,
    trusted_certificates,
)


class Store(NamedTuple):
    """A PEM file, or PEM texts; nothing where the options name no store."""

    file: str | None = None
    text: str | None = None
    """Certificates."""
    key: str | None = None

    def __repr__(self) -> str:
        return f"Store(file={self.file!r})"  # a traceback must not carry the key


def trust_store(options: Mapping[str, str], prefix: str = "") -> Store:
    """Of `ssl.truststore.*`. Raises SecurityError."""
    settings = _settings(options, "ssl.truststore", prefix)
    if settings.location is None:
        return Store(text=options.get("ssl.truststore.certificates"))
    try:
        if is_pem(read_store(settings)):
            return Store(file=settings.location)
        found = trusted_certificates(settings)
        return Store(text=found.decode() if found is not None else None)
    except InvalidTls as error:
        raise SecurityError(str(error).rstrip(".")) from error


def key_store(options: Mapping[str, str], prefix: str = "") -> Store:
    """Of `ssl.keystore.*`. Raises SecurityError."""
    settings = _settings(options, "ssl.keystore", prefix)
    if settings.location is None:
        return Store(text=options.get("ssl.keystore.certificate.chain"), key=options.get("ssl.keystore.key"))
    try:
        if is_pem(read_store(settings)):
            return Store(file=settings.location)  # Kafka's PEM key store is one file with both
        found = key_material(settings)
    except InvalidTls as error:
        raise SecurityError(str(error).rstrip(".")) from error
    return Store(text=found.chain.decode(), key=found.key.decode())


def _settings(options: Mapping[str, str], name: str, prefix: str) -> StoreSettings:
    return StoreSettings(
        f"{prefix}{name}",
        options.get(f"{name}.location") or None,
        options.get(f"{name}.password"),
        options.get(f"{name}.type"),
        key_password=options.get("ssl.key.password"),
    )
