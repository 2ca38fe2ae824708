"""A client that may send anything: whole requests of any version, single bytes, or nothing at all."""

import socket
import struct
import time
from collections.abc import Callable
from itertools import count
from typing import Any

from tidelog.wire.apis import API, ApiKey
from tidelog.wire.frame import read_response, write_request
from tidelog.wire.message import Message

DEADLINE_S = 20.0


class Closed(Exception):
    """The broker ended the connection where an answer was due."""


class RawClient:
    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._numbers = count(1)

    def __enter__(self) -> "RawClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    @property
    def address(self) -> str:
        """As the broker names this client in its log."""
        host, port = self.socket.getsockname()
        return f"{host}:{port}"

    def send(self, data: bytes) -> None:
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            raise Closed from None

    def send_request(self, key: int, version: int, message: Message) -> int:
        number = next(self._numbers)
        self.send(request_bytes(key, version, message, number))
        return number

    def receive(self) -> bytes:
        """The next answer, without its size."""
        (size,) = struct.unpack(">i", self._receive_exactly(4))
        return self._receive_exactly(size)

    def ask(self, key: int, message: Message, version: int | None = None) -> Any:
        """The answer to a request, in the newest version that there is unless told otherwise."""
        version = API[key].max_version if version is None else version
        number = self.send_request(key, version, message)
        answered, answer = read_response(key, version, self.receive())
        assert answered == number, "an answer out of order"
        return answer

    def is_closed(self) -> bool:
        """Waits until the broker ends the connection; False if an answer comes instead."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def _receive_exactly(self, wanted: int) -> bytes:
        parts = []
        while wanted:
            try:
                data = self.socket.recv(min(wanted, 1 << 20))
            except ConnectionResetError:
                raise Closed from None
            if not data:
                raise Closed
            parts.append(data)
            wanted -= len(data)
        return b"".join(parts)


def request_bytes(key: int, version: int, message: Message, number: int = 1) -> bytes:
    """A whole frame with its size."""
    return b"".join(bytes(part) for part in write_request(key, version, number, "raw", message))


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def header_bytes(key: int, version: int, number: int = 1) -> bytes:
    """A request header of the older form, with client id `raw`."""
    return struct.pack(">hhih", key, version, number, 3) + b"raw"


def versions(key: int) -> range:
    return range(API[ApiKey(key)].min_version, API[ApiKey(key)].max_version + 1)


def wait_until(condition: Callable[[], bool], what: str, patience_s: float = DEADLINE_S) -> None:
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {patience_s:g} s in vain: {what}"
        time.sleep(0.01)
