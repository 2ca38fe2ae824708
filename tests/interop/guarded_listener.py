"""A listener with TLS, with SASL (PLAIN), or with both, in front of a broker."""

import socket
import ssl
import struct
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from tidelog.base.errors import ErrorCode
from tidelog.security.tls.authority import Issued
from tidelog.wire.apis import ApiKey
from tidelog.wire.codec import decode
from tidelog.wire.frame import read_request_header, write_response
from tidelog.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from tidelog.wire.messages.sasl_authenticate import SaslAuthenticateResponse
from tidelog.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

VERSIONS = [
    (ApiKey.METADATA, 0, 12),
    (ApiKey.SASL_HANDSHAKE, 0, 1),
    (ApiKey.API_VERSIONS, 0, 3),
    (ApiKey.SASL_AUTHENTICATE, 0, 2),
    (ApiKey.DESCRIBE_CLUSTER, 0, 1),
]


class GuardedListener:
    def __init__(self, broker: str, *, tls: ssl.SSLContext | None = None, sasl: bool = False) -> None:
        host, _, port = broker.rpartition(":")
        self._broker = (host, int(port))
        self._tls, self._sasl = tls, sasl
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> "GuardedListener":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)

    def _accept(self) -> None:
        while True:
            try:
                plain, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(plain,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        with plain, suppress(OSError):
            client = plain if self._tls is None else self._tls.wrap_socket(plain, server_side=True)
            with client, client.makefile("rb") as stream, socket.create_connection(self._broker) as broker:
                while size := stream.read(4):
                    frame = size + stream.read(struct.unpack(">i", size)[0])
                    if not self._sasl:
                        broker.sendall(frame)
                        client.sendall(_answer(broker))
                    elif not _guard(frame[4:], client):
                        return


def _guard(frame: bytes, client: socket.socket) -> bool:
    """False hangs up, as Kafka does on what comes before SASL. No password is right."""
    header, start = read_request_header(memoryview(frame))
    answer: Any
    if header.api_key == ApiKey.API_VERSIONS:
        rows = [ApiVersion(api_key=key, min_version=low, max_version=high) for key, low, high in VERSIONS]
        answer = ApiVersionsResponse(api_keys=rows)
    elif header.api_key == ApiKey.SASL_HANDSHAKE:
        request = decode(SaslHandshakeRequest, header.api_version, memoryview(frame), start)
        known = request.mechanism == "PLAIN"
        code = ErrorCode.NONE if known else ErrorCode.UNSUPPORTED_SASL_MECHANISM
        answer = SaslHandshakeResponse(error_code=code, mechanisms=["PLAIN"])
    elif header.api_key == ApiKey.SASL_AUTHENTICATE:
        code = ErrorCode.SASL_AUTHENTICATION_FAILED
        answer = SaslAuthenticateResponse(error_code=code, error_message="no such user", auth_bytes=b"")
    else:
        return False
    for part in write_response(header.api_key, header.api_version, header.correlation_id, answer):
        client.sendall(part)
    return True


def _answer(broker: socket.socket) -> bytes:
    size = broker.recv(4, socket.MSG_WAITALL)
    return size + broker.recv(struct.unpack(">i", size)[0], socket.MSG_WAITALL)


def server_tls(directory: Path, issued: Issued, clients: bytes | None = None) -> ssl.SSLContext:
    """With this key and certificate; `clients` is the authority whose certificates clients must show."""
    file = directory / f"{hash(issued.certificate)}.pem"
    file.write_bytes(issued.key + issued.certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    if clients is not None:
        context.load_verify_locations(cadata=clients.decode())
        context.verify_mode = ssl.CERT_REQUIRED
    return context
