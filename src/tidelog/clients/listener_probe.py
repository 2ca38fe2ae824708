"""What a listener speaks: plain text or TLS, and whether it asks for SASL.

librdkafka says nothing where a TLS or SASL listener hangs up on a plain client. Two small requests find out
why. They are sent only once a client has failed, since brokers log them.
"""

import socket
import ssl
import struct
from typing import NamedTuple

TIMEOUT_S = 2.0
ANSWER_BYTES_MAX = 1 << 20

SASL_HANDSHAKE, API_VERSIONS = 17, 18
UNSUPPORTED_SASL_MECHANISM, ILLEGAL_SASL_STATE = 33, 34

# api key, version, correlation id, client id (length and text); the body follows.
_HEADER = struct.Struct(">hhih7s")
_CLIENT_ID = b"tidelog"
_API = struct.Struct(">hhh")  # key, first and last version


class Listener(NamedTuple):
    address: str
    is_tls: bool
    mechanisms: tuple[str, ...] | None = None
    """Of SASL, where the listener asks for it; empty where it does not, None where that is not known."""

    @property
    def security_protocol(self) -> str:
        """The value of `security.protocol` that fits, as far as it is known."""
        if self.mechanisms:
            return "sasl_ssl" if self.is_tls else "sasl_plaintext"
        return "ssl" if self.is_tls else "plaintext"

    def fits(self, security_protocol: str) -> bool:
        if security_protocol.endswith("ssl") != self.is_tls:
            return False
        return self.mechanisms is None or bool(self.mechanisms) == security_protocol.startswith("sasl")


def find_listener(host: str, port: int, timeout_s: float = TIMEOUT_S) -> Listener | None:
    """None where nothing answers there, or nothing that speaks Kafka or TLS."""
    address = f"{host}:{port}"
    try:
        with socket.create_connection((host, port), timeout_s) as plain:
            plain.settimeout(timeout_s)
            apis = _apis(plain)
            if apis is not None:
                return Listener(address, False, _mechanisms(plain, apis))
        with socket.create_connection((host, port), timeout_s) as raw:
            raw.settimeout(timeout_s)
            return _behind_tls(raw, address)
    except (OSError, UnicodeError):  # the latter for what cannot be the name of a host
        return None


def _behind_tls(raw: socket.socket, address: str) -> Listener | None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False  # nothing is sent that must stay secret
    context.verify_mode = ssl.CERT_NONE
    try:
        with context.wrap_socket(raw) as encrypted:
            apis = _apis(encrypted)
            return Listener(address, True, None if apis is None else _mechanisms(encrypted, apis))
    except ssl.SSLError as error:
        # An alert is TLS as well: the listener wants a certificate of the client, say.
        return Listener(address, True) if "ALERT" in (error.reason or "") else None


def _apis(connection: socket.socket) -> set[int] | None:
    """The keys of the requests that the broker takes; None where no Kafka broker answers."""
    try:
        answer = _ask(connection, API_VERSIONS, 0, b"")
        if answer is None:
            return None
        (count,) = struct.unpack_from(">i", answer, 2)
        return {key for key, _, _ in _API.iter_unpack(answer[6 : 6 + count * _API.size])}
    except (OSError, struct.error):
        return None


def _mechanisms(connection: socket.socket, apis: set[int]) -> tuple[str, ...] | None:
    """Asked for a mechanism without a name, a listener with SASL says which ones it has."""
    if SASL_HANDSHAKE not in apis:
        return ()
    try:
        answer = _ask(connection, SASL_HANDSHAKE, 1, struct.pack(">h", 0))
        if answer is None:
            return None
        (code,) = struct.unpack_from(">h", answer)
        if code == UNSUPPORTED_SASL_MECHANISM:
            return _strings(answer, 2) or None
        return () if code == ILLEGAL_SASL_STATE else None
    except (OSError, struct.error, UnicodeDecodeError):
        return None


def _ask(connection: socket.socket, api: int, version: int, body: bytes) -> bytes | None:
    """The body of the answer; None where it is no answer."""
    request = _HEADER.pack(api, version, 1, len(_CLIENT_ID), _CLIENT_ID) + body
    connection.sendall(struct.pack(">i", len(request)) + request)
    head = _exactly(connection, 8)
    if head is None:
        return None
    size, correlation_id = struct.unpack(">ii", head)
    if correlation_id != 1 or not 4 < size <= ANSWER_BYTES_MAX:
        return None
    return _exactly(connection, size - 4)


def _exactly(connection: socket.socket, wanted: int) -> bytes | None:
    data = b""
    while len(data) < wanted:
        piece = connection.recv(wanted - len(data))
        if not piece:
            return None
        data += piece
    return data


def _strings(data: bytes, position: int) -> tuple[str, ...]:
    (count,) = struct.unpack_from(">i", data, position)
    position += 4
    found = []
    for _ in range(min(count, 100)):
        (length,) = struct.unpack_from(">h", data, position)
        found.append(data[position + 2 : position + 2 + length].decode())
        position += 2 + length
    return tuple(found)
