"""A broker that follows a script: enough of the protocol to log in, wrapped in TLS where a test wants it."""

import socket
import ssl
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tidelog.base.errors import ErrorCode
from tidelog.wire.apis import API
from tidelog.wire.codec import decode
from tidelog.wire.frame import read_request_header, write_response
from tidelog.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse

VERSIONS = [(3, 0, 12), (17, 1, 1), (18, 0, 3), (36, 0, 2)]


class ScriptedBroker:
    """`answer(request) -> response` is asked for all but ApiVersions. Serves one connection after another."""

    def __init__(
        self, answer: Callable[[Any], Any], tls: ssl.SSLContext | None = None, *, api_versions_max: int = 3
    ) -> None:
        self._answer, self._tls, self._api_versions_max = answer, tls, api_versions_max
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._served: socket.socket | None = None

    def __enter__(self) -> "ScriptedBroker":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        if self._served is not None:  # a client that is still there would keep the thread
            with suppress(OSError):
                self._served.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)

    def _serve(self) -> None:
        while True:
            try:
                plain, _ = self._listener.accept()
                self._served = plain
            except OSError:
                return
            try:
                with (
                    plain
                    if self._tls is None
                    else self._tls.wrap_socket(plain, server_side=True) as connection
                ):
                    self._talk(connection)
            except OSError:
                continue

    def _talk(self, connection: socket.socket) -> None:
        with connection.makefile("rb") as stream:
            while size := stream.read(4):
                frame = memoryview(stream.read(struct.unpack(">i", size)[0]))
                header, start = read_request_header(frame)
                request = decode(API[header.api_key].request_class(), header.api_version, frame, start)
                versions = [
                    ApiVersion(api_key=key, min_version=low, max_version=high) for key, low, high in VERSIONS
                ]
                version = header.api_version
                if not isinstance(request, ApiVersionsRequest):
                    answer = self._answer(request)
                elif version <= self._api_versions_max:
                    answer = ApiVersionsResponse(api_keys=versions)
                else:  # as Kafka does it: the first version, which every client can read
                    version, code = 0, ErrorCode.UNSUPPORTED_VERSION
                    answer = ApiVersionsResponse(error_code=code, api_keys=versions[2:3])
                for part in write_response(header.api_key, version, header.correlation_id, answer):
                    connection.sendall(part)
