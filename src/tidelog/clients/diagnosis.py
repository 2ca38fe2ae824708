"""Why a secured connection fails: a look with our own client and the settings of the one that failed.

librdkafka reports a failed handshake late, in OpenSSL's words, or not at all. The blocking client gets to the
same end in one attempt and knows what went wrong: whose certificate, which mechanism, which user.
"""

import socket
import ssl
from collections.abc import Mapping
from typing import Any

from tidelog.base.errors import TidelogError
from tidelog.blocking.addresses import Address, addresses_of
from tidelog.blocking.connection import Connection
from tidelog.blocking.errors import (
    CertificateWanted,
    Disconnected,
    LoginRefused,
    MechanismRefused,
    SecurityError,
    UntrustedBroker,
)
from tidelog.blocking.security import Security
from tidelog.blocking.security_options import security_of
from tidelog.clients.trouble import Trouble

TIMEOUT_S = 3.0
ALERT_S = 1.0

# OpenSSL's X509_V_ERR_…
_NOT_YET_VALID, _EXPIRED = 9, 10
_HOST_NAME, _IP_ADDRESS = 62, 64


def diagnose(servers: str, properties: Mapping[str, Any]) -> Trouble | None:
    """Returns None where a broker lets the client in, none answers, or the reason has no name here."""
    given = {name: str(value) for name, value in properties.items() if isinstance(value, str | int | bool)}
    try:
        security = security_of(given)
    except SecurityError:
        return None  # what librdkafka has and we do not, such as Kerberos
    found = [_of_broker(address, security) for address in addresses_of(servers)]
    # A broker that lets the client in is enough to work with.
    return found[0] if found and all(trouble is not None for trouble in found) else None


def _of_broker(address: Address, security: Security) -> Trouble | None:
    host, port = address
    try:
        Connection(host, port, security=security, connect_timeout_s=TIMEOUT_S, timeout_s=TIMEOUT_S).close()
    except SecurityError as error:
        return trouble_of(error, f"{host}:{port}")
    except Disconnected:
        wants = security.tls is not None and _wants_certificate(host, port, security)
        return trouble_of(wants, f"{host}:{port}") if wants else None
    except TidelogError:
        return None
    return None


def _wants_certificate(host: str, port: int, security: Security) -> CertificateWanted | None:
    """A request under way when the broker hangs up destroys the alert that says why; so none is sent."""
    if security.tls is None or security.tls.has_certificate:
        return None
    try:
        with (
            socket.create_connection((host, port), TIMEOUT_S) as plain,
            security.tls.context.wrap_socket(plain, server_hostname=host) as encrypted,
        ):
            encrypted.settimeout(ALERT_S)
            encrypted.recv(1)
    except ssl.SSLError as error:
        if "ALERT" in (error.reason or "") and ("CERTIFICATE" in error.reason or "HANDSHAKE" in error.reason):
            return CertificateWanted("the broker wants a certificate of the client")
    except (OSError, SecurityError):
        return None
    return None


def trouble_of(error: SecurityError, server: str) -> Trouble:
    """An error of the blocking client in the words that all our tools use."""
    if isinstance(error, UntrustedBroker):
        return _untrusted(error, server)
    if isinstance(error, CertificateWanted):
        has_one = "not accept" in str(error)
        return Trouble(
            f"The listener at {server} does not accept the certificate of the client."
            if has_one
            else f"The listener at {server} wants a certificate of the client, and the client shows none.",
            "it comes from an authority that the brokers do not trust, or has expired."
            if has_one
            else "ssl.client.auth=required on this listener.",
            properties="ssl.certificate.location and ssl.key.location",
            is_about_identity=True,
        )
    if isinstance(error, MechanismRefused):
        offered = ", ".join(error.offered) or "none"
        return Trouble(
            f"The listener at {server} does not offer the SASL mechanism of the client; it has: {offered}.",
            "sasl.mechanism does not fit this listener.",
            setting=f"sasl.mechanism={error.offered[0]}" if error.offered else "",
            properties="sasl.mechanism",
            is_about_identity=True,
        )
    if isinstance(error, LoginRefused):
        return Trouble(
            f"The broker at {server} does not let the client in: {error}.",
            "the user does not exist, or the password or token is wrong.",
            properties="sasl.username and sasl.password, or the token",
            is_about_identity=True,
        )
    return Trouble(
        f"The client cannot connect to {server}: {error}.",
        "a file or text of a certificate or key cannot be used, or a token cannot be had.",
        properties="the ssl.* and sasl.* properties",
    )


def _untrusted(error: UntrustedBroker, server: str) -> Trouble:
    said = f"certificate verify failed: {error.reason}"
    if error.code in (_EXPIRED, _NOT_YET_VALID):
        when = "has expired" if error.code == _EXPIRED else "is not valid yet"
        return Trouble(
            f"The certificate of the broker at {server} {when} ({said}).",
            "it was not renewed, or the clock of this machine is wrong.",
            properties="ssl.ca.location once the certificate is renewed (tidelog security cert renew)",
        )
    if error.code in (_HOST_NAME, _IP_ADDRESS):
        return Trouble(
            f"The certificate of the broker at {server} is for another host name ({said}).",
            "bootstrap.servers or advertised.listeners names the broker differently than its certificate.",
            properties="bootstrap.servers, or ssl.endpoint.identification.algorithm=none in tests",
        )
    return Trouble(
        f"The certificate of the broker at {server} comes from an authority that the client does not trust "
        f"({said}).",
        "ssl.ca.location names no authority, or another one than the broker's.",
        properties="ssl.ca.location",
    )
