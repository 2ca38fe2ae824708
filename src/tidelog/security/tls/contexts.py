"""TLS contexts from settings: one for a listener, one for connections to other brokers or from tools.

TLS 1.2 and 1.3 alone. Renegotiation and compression are off. A server prefers its own order of ciphers.
"""

import os
import ssl
import tempfile
from enum import Enum
from typing import NamedTuple

from tidelog.security.tls.material import (
    InvalidTls,
    KeyMaterial,
    StoreSettings,
    key_material,
    trusted_certificates,
)

_SUITES_OF_1_3 = ("TLS_AES_", "TLS_CHACHA20_")
_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


class ClientAuth(Enum):
    """Whether a listener asks clients for a certificate: `ssl.client.auth`."""

    NONE = "none"
    REQUESTED = "requested"
    REQUIRED = "required"


class TlsSettings(NamedTuple):
    key_store: StoreSettings
    trust_store: StoreSettings
    client_auth: ClientAuth = ClientAuth.NONE
    protocols: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")
    highest: str = "TLSv1.3"
    cipher_suites: tuple[str, ...] = ()
    """Of TLS 1.2, under OpenSSL's or the standard's names; those of 1.3 are always on."""
    check_hostname: bool = True

    @property
    def files(self) -> tuple[str, ...]:
        """What to look at for changes."""
        places = (self.key_store.location, self.trust_store.location)
        return tuple(place for place in places if place is not None)


def server_context(settings: TlsSettings) -> ssl.SSLContext:
    """Raises InvalidTls."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _harden(context, settings)
    context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
    load_key(context, key_material(settings.key_store), settings.key_store.name)
    if settings.client_auth is not ClientAuth.NONE:
        trusted = trusted_certificates(settings.trust_store)
        if trusted is None:
            raise InvalidTls(
                f"ssl.client.auth={settings.client_auth.value} needs the authority of the clients' "
                "certificates: set ssl.truststore.location."
            )
        context.load_verify_locations(cadata=trusted.decode())
        is_required = settings.client_auth is ClientAuth.REQUIRED
        context.verify_mode = ssl.CERT_REQUIRED if is_required else ssl.CERT_OPTIONAL
    return context


def client_context(settings: TlsSettings) -> ssl.SSLContext:
    """For the side that connects. Without a trust store the machine's own authorities count."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _harden(context, settings)
    context.check_hostname = settings.check_hostname
    trusted = trusted_certificates(settings.trust_store)
    if trusted is None:
        context.load_default_certs()
    else:
        context.load_verify_locations(cadata=trusted.decode())
    store = settings.key_store
    if store.location or store.key:
        load_key(context, key_material(store), store.name)
    return context


def load_key(context: ssl.SSLContext, material: KeyMaterial, name: str) -> None:
    """The ssl module reads keys from files only, so it gets one that lives for a moment."""
    descriptor, path = tempfile.mkstemp(suffix=".pem")  # readable by its owner alone
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(material.key + material.chain)
        # An encrypted key without a password would ask on the terminal.
        context.load_cert_chain(path, password=material.password or "")
    except (ssl.SSLError, OSError, ValueError) as error:
        reason = (
            "the key does not belong to the certificate" if "MISMATCH" in str(error).upper() else str(error)
        )
        raise InvalidTls(f"{name}: key and certificate cannot be used: {reason}.") from error
    finally:
        os.unlink(path)


def _harden(context: ssl.SSLContext, settings: TlsSettings) -> None:
    versions = _versions(settings)
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    older = [suite for suite in settings.cipher_suites if not suite.startswith(_SUITES_OF_1_3)]
    if settings.cipher_suites and not older:
        # No suite of TLS 1.2 is wanted, so 1.2 is not either.
        if max(versions) < ssl.TLSVersion.TLSv1_3:
            raise InvalidTls("ssl.cipher.suites has suites of TLS 1.3 alone, which is not enabled.")
        context.minimum_version = ssl.TLSVersion.TLSv1_3
    if older:
        try:
            context.set_ciphers(":".join(map(_openssl_name, older)))
        except ssl.SSLError as error:
            raise InvalidTls(
                f"ssl.cipher.suites={','.join(settings.cipher_suites)}: OpenSSL knows none of them."
            ) from error


def _versions(settings: TlsSettings) -> list[ssl.TLSVersion]:
    names = settings.protocols
    unknown = [name for name in names if name not in _VERSIONS]
    if unknown or not names:
        raise InvalidTls(
            f"ssl.enabled.protocols={','.join(names)}: choose TLSv1.2, TLSv1.3 or both; older versions "
            "are broken."
        )
    highest = _VERSIONS[settings.highest]
    versions = [_VERSIONS[name] for name in names if _VERSIONS[name] <= highest]
    if not versions:
        raise InvalidTls(
            f"ssl.protocol={settings.highest} is below every version of ssl.enabled.protocols="
            f"{','.join(names)}; raise it."
        )
    return versions


def _openssl_name(suite: str) -> str:
    """`TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384` as OpenSSL calls it: `ECDHE-RSA-AES256-GCM-SHA384`."""
    if not suite.startswith("TLS_") or "_WITH_" not in suite:
        return suite
    exchange, _, cipher = suite.removeprefix("TLS_").partition("_WITH_")
    cipher = cipher.replace("AES_128", "AES128").replace("AES_256", "AES256").replace("_CBC", "")
    cipher = cipher.replace("CHACHA20_POLY1305_SHA256", "CHACHA20-POLY1305")
    prefix = "" if exchange == "RSA" else exchange.replace("_", "-") + "-"
    return prefix + cipher.replace("_", "-")
