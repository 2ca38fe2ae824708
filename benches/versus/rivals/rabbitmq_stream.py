"""RabbitMQ's stream protocol over a socket: big-endian frames, each with its size in front.

frame    u32 size, u16 key, u16 version, then the command; a question has a u32 to correlate next,
         its answer the same number and a u16 code, where 1 is fine
string   u16 length, bytes;  bytes and arrays have a u32 in front
"""

import socket
import struct
from collections.abc import Iterator
from typing import Self

from benches.versus.generator import Run
from benches.versus.rivals import window

DECLARE_PUBLISHER, PUBLISH, PUBLISH_CONFIRM, SUBSCRIBE, DELIVER, CREDIT = 1, 2, 3, 7, 8, 9
CREATE, DELETE, PEER_PROPERTIES, SASL_HANDSHAKE, SASL_AUTHENTICATE, TUNE, OPEN = 13, 14, 17, 18, 19, 20, 21
ANSWER = 0x8000
OK = 1
FIRST = 1
"""Where a subscription begins: at the first message that is there."""
CREDITS = 10
"""Chunks on their way to us; a chunk is what the server wrote at once."""

HEAD = struct.Struct(">HH")
CONFIRM = struct.Struct(">HHBI")  # key, version, publisher, confirmed messages
CHUNK = struct.Struct(">HHBBBHI")  # key, version, subscription; magic, kind, entries, messages of the chunk


class RabbitMqStream:
    """`with RabbitMqStream(address) as server:` is a connection that is logged in."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._socket = socket.create_connection(address, timeout=window.SILENCE_SECONDS_MAX)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._asked = 0
        self.ask(PEER_PROPERTIES, struct.pack(">I", 0))
        self.ask(SASL_HANDSHAKE, b"")
        login = b"\0guest\0guest"
        self.ask(SASL_AUTHENTICATE, _string("PLAIN") + struct.pack(">I", len(login)) + login)
        tune = self._frame()
        self._send(tune[: HEAD.size + 4] + struct.pack(">I", 0))  # its largest frame, and no heartbeats
        self.ask(OPEN, _string("/"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, key: int, content: bytes) -> None:
        self._asked += 1
        self._send(HEAD.pack(key, 1) + struct.pack(">I", self._asked) + content)
        while True:
            answer = self._frame()
            if HEAD.unpack_from(answer)[0] == ANSWER | key:
                break
        [code] = struct.unpack_from(">H", answer, 8)
        if code != OK:
            raise RuntimeError(f"RabbitMQ answered command {key} with code {code}")

    def create(self, stream: str) -> None:
        self.ask(CREATE, _string(stream) + struct.pack(">I", 0))

    def delete(self, stream: str) -> None:
        self.ask(DELETE, _string(stream))

    def produce(self, stream: str, size: int, count: int) -> Run:
        self.ask(DECLARE_PUBLISHER, struct.pack(">B", 0) + _string("") + _string(stream))
        message = struct.pack(">I", size) + window.sample(size)
        # As many numbers as may be unconfirmed, so that no two messages on their way have the same.
        blocks = []
        for first in range(0, window.UNCONFIRMED_MAX, window.BLOCK):
            numbers = range(first, first + window.BLOCK)
            body = b"".join(struct.pack(">Q", number) + message for number in numbers)
            blocks.append(_framed(HEAD.pack(PUBLISH, 1) + struct.pack(">BI", 0, window.BLOCK) + body))
        heads = _Heads(CONFIRM.size)

        def confirmed(data: bytes) -> int:
            messages = 0
            for head in heads.of(data):
                key, _, _, some = CONFIRM.unpack(head)
                if key != PUBLISH_CONFIRM:
                    raise RuntimeError(f"RabbitMQ answered messages with command {key}")
                messages += some
            return messages

        return window.send(self._socket, blocks, count, confirmed)

    def consume(self, stream: str, count: int) -> Run:
        heads = _Heads(CHUNK.size)

        def arrived(data: bytes) -> int:
            chunks = messages = 0
            for head in heads.of(data):
                key, _, _, _, _, _, some = CHUNK.unpack(head)
                if key != DELIVER:
                    raise RuntimeError(f"RabbitMQ sent command {key} among messages")
                chunks, messages = chunks + 1, messages + some
            if chunks:
                self._send(HEAD.pack(CREDIT, 1) + struct.pack(">BH", 0, chunks))
            return messages

        self.ask(SUBSCRIBE, struct.pack(">B", 0) + _string(stream) + struct.pack(">HHI", FIRST, CREDITS, 0))
        return window.read(self._socket, count, arrived)

    def _send(self, frame: bytes) -> None:
        self._socket.sendall(_framed(frame))

    def _frame(self) -> bytes:
        """Reads not a byte more, since messages may follow."""
        [size] = struct.unpack(">I", self._exactly(4))
        return self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        data = self._socket.recv(size, socket.MSG_WAITALL)
        if len(data) < size:
            raise ConnectionError("RabbitMQ closed the connection")
        return data


class _Heads:
    """The first bytes of every frame of a stream that comes in pieces; the rest is skipped unread."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._begun = b""
        self._skipped = 0

    def of(self, data: bytes) -> Iterator[bytes]:
        data = self._begun + data
        at = self._skipped
        while len(data) >= at + 4 + self._size:
            [size] = struct.unpack_from(">I", data, at)
            yield data[at + 4 : at + 4 + self._size]
            at += 4 + size
        self._begun = data[at:]
        self._skipped = max(0, at - len(data))


def _framed(frame: bytes) -> bytes:
    return struct.pack(">I", len(frame)) + frame


def _string(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()
