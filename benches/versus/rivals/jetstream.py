"""NATS with JetStream over a socket: lines of text, and JSON for what JetStream itself is asked.

    PUB subject [reply] size\r\n payload\r\n      MSG subject sid [reply] size\r\n payload\r\n

JetStream answers each stored message with one of its own at `reply`, `{"stream": ..., "seq": ...}`. A message
that is read back names its place after `$JS.ACK.` as its reply. Both are counted by these marks alone.
"""

import json
import socket
from collections.abc import Callable
from typing import Any, Self

from benches.versus.generator import Run
from benches.versus.rivals import window

ANSWERS, CONFIRMS, MESSAGES = b"_INBOX.answers", b"_INBOX.confirms", b"_INBOX.messages"
PULLED = 10_000
"""Messages that are asked for together; half as many are left when the next ones are asked for."""


class JetStream:
    """`with JetStream(address) as server:`; pings go unanswered, which short runs may do."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._socket = socket.create_connection(address, timeout=window.SILENCE_SECONDS_MAX)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile("rb")
        self._send(b'CONNECT {"verbose":false,"headers":true}\r\nSUB %b 1\r\nPING\r\n' % ANSWERS)
        while (line := self._file.readline()) != b"PONG\r\n":
            if not line or line.startswith(b"-ERR"):
                raise ConnectionError(f"NATS refused the connection: {line!r}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._socket.close()

    def ask(self, what: str, question: dict[str, Any] | None = None) -> dict[str, Any]:
        body = json.dumps(question).encode() if question else b""
        self._send(b"PUB $JS.API.%b %b %d\r\n%b\r\n" % (what.encode(), ANSWERS, len(body), body))
        while not (line := self._file.readline()).startswith((b"MSG", b"HMSG")):
            if not line or line.startswith(b"-ERR"):
                raise ConnectionError(f"{what}: {line!r}")
        payload = self._file.read(int(line.split()[-1]) + 2)
        if line.startswith(b"HMSG"):  # nobody listens at that subject: JetStream is not up yet
            raise ConnectionError(f"{what}: {payload!r}")
        answer: dict[str, Any] = json.loads(payload)
        if "error" in answer:
            raise RuntimeError(f"{what}: {answer['error']}")
        return answer

    def create(self, stream: str) -> None:
        self.ask(f"STREAM.CREATE.{stream}", {"name": stream, "subjects": [stream], "storage": "file"})

    def delete(self, stream: str) -> None:
        self.ask(f"STREAM.DELETE.{stream}")

    def produce(self, stream: str, size: int, count: int) -> Run:
        message = b"PUB %b %b %d\r\n%b\r\n" % (stream.encode(), CONFIRMS, size, window.sample(size))
        self._send(b"SUB %b 2\r\n" % CONFIRMS)
        run = window.send(self._socket, [message * window.BLOCK], count, _counter(b'"seq":'))
        stored = self.ask(f"STREAM.INFO.{stream}")["state"]["messages"]
        if stored != count:  # a refusal has a number too
            raise RuntimeError(f"{stored} of {count} messages were stored")
        return run

    def consume(self, stream: str, count: int) -> Run:
        config = {"durable_name": "load", "ack_policy": "none", "deliver_policy": "all"}
        self.ask(f"CONSUMER.DURABLE.CREATE.{stream}.load", {"stream_name": stream, "config": config})
        body = json.dumps({"batch": PULLED}).encode()
        pull = b"PUB $JS.API.CONSUMER.MSG.NEXT.%b.load %b %d\r\n%b\r\n" % (
            stream.encode(),
            MESSAGES,
            len(body),
            body,
        )
        self._send(b"SUB %b 3\r\n" % MESSAGES + pull)
        found, got, asked = _counter(b"$JS.ACK."), 0, PULLED

        def arrived(data: bytes) -> int:
            nonlocal got, asked
            some = found(data)
            got += some
            if asked - got < PULLED // 2 and asked < count:
                self._send(pull)
                asked += PULLED
            return some

        return window.read(self._socket, count, arrived)

    def _send(self, data: bytes) -> None:
        self._socket.sendall(data)


def _counter(mark: bytes) -> Callable[[bytes], int]:
    """Counts a mark in what is received, also where two pieces meet."""
    tail = b""

    def count(data: bytes) -> int:
        nonlocal tail
        data = tail + data
        tail = data[1 - len(mark) :]  # one byte short of the mark, so that none is counted twice
        return data.count(mark)

    return count
