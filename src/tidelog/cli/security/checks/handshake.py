"""A real TLS handshake with a listener, to see its certificate and what it accepts."""

import socket
import ssl
from dataclasses import dataclass
from typing import Protocol

WEAK_CIPHERS = "kRSA:CBC:!aNULL:!eNULL:!TLSv1.3:@SECLEVEL=0"
"""Without forward secrecy, or in the mode that padding attacks broke."""


@dataclass(frozen=True, slots=True)
class Handshake:
    certificate: bytes | None = None
    """In DER form; None where there was no handshake."""
    problem: str | None = None
    """Why it failed, or why the certificate is not trusted."""
    is_trusted: bool = True
    weak_cipher: str | None = None
    """A weak cipher that the listener accepted."""


class Handshaker(Protocol):
    def __call__(self, host: str, port: int) -> Handshake: ...


@dataclass(frozen=True, slots=True)
class TlsProbe:
    """With the authority and the certificate that the session's client would use."""

    context: ssl.SSLContext
    timeout_s: float

    def __call__(self, host: str, port: int) -> Handshake:
        problem, is_trusted = None, True
        try:
            certificate = self._certificate(self.context, host, port)
        except ssl.SSLCertVerificationError as error:
            problem, is_trusted = error.verify_message or str(error), False
            certificate = self._untrusted(host, port)
        except OSError as error:  # ssl.SSLError is one
            return Handshake(problem=getattr(error, "reason", None) or str(error))
        return Handshake(certificate, problem, is_trusted, self._weak_cipher(host, port))

    def _certificate(self, context: ssl.SSLContext, host: str, port: int) -> bytes | None:
        with (
            socket.create_connection((host, port), self.timeout_s) as plain,
            context.wrap_socket(plain, server_hostname=host) as secured,
        ):
            return secured.getpeercert(binary_form=True)

    def _untrusted(self, host: str, port: int) -> bytes | None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        try:
            return self._certificate(context, host, port)
        except OSError:
            return None

    def _weak_cipher(self, host: str, port: int) -> str | None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.set_ciphers(WEAK_CIPHERS)
            with (
                socket.create_connection((host, port), self.timeout_s) as plain,
                context.wrap_socket(plain, server_hostname=host) as secured,
            ):
                cipher = secured.cipher()
        except OSError:
            return None
        return cipher[0] if cipher else None
