"""AMQP 0.9.1 over a socket, as far as a queue is written, read and acknowledged. Frames are built once.

frame: type (1 method, 2 header, 3 body), channel, size, payload, 0xCE
method: class, method, arguments
"""

import asyncio
import struct
from collections.abc import Callable

Address = tuple[str, int]
FRAME_END = 0xCE
METHOD, HEADER, BODY = 1, 2, 3
CHANNEL = 1
FRAME_BYTES_MAX = 131_072
DELIVER, CONFIRM, NACK = (60, 60), (60, 80), (60, 120)
PERSISTENT = struct.pack(">HB", 0x1000, 2)  # the property flag of the delivery mode, and the mode


def short(text: str) -> bytes:
    return struct.pack("B", len(text)) + text.encode()


def long(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def framed(kind: int, channel: int, payload: bytes) -> bytes:
    return struct.pack(">BHI", kind, channel, len(payload)) + payload + bytes([FRAME_END])


def method(channel: int, class_id: int, method_id: int, arguments: bytes = b"") -> bytes:
    return framed(METHOD, channel, struct.pack(">HH", class_id, method_id) + arguments)


def publish(queue: str, body: bytes) -> bytes:
    """To the default exchange, which routes by the queue's name; stored on disk."""
    head = method(CHANNEL, 60, 40, struct.pack(">H", 0) + short("") + short(queue) + b"\0")
    properties = struct.pack(">HHQ", 60, 0, len(body)) + PERSISTENT
    return head + framed(HEADER, CHANNEL, properties) + framed(BODY, CHANNEL, body)


def ack(tag: int, *, multiple: bool = False) -> bytes:
    return method(CHANNEL, 60, 80, struct.pack(">QB", tag, multiple))


class Channel:
    """A connection with one channel. Between calls its reader belongs to `deliveries` or `confirms`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self.writer = reader, writer

    @classmethod
    async def open(cls, address: Address) -> "Channel":
        made = cls(*await asyncio.open_connection(*address, limit=1 << 24))
        made.writer.write(b"AMQP\x00\x00\x09\x01")
        await made._expect(10, 10)
        login = long(b"") + short("PLAIN") + long(b"\0guest\0guest") + short("en_US")
        made.writer.write(method(0, 10, 11, login))
        await made._expect(10, 30)
        made.writer.write(method(0, 10, 31, struct.pack(">HIH", CHANNEL, FRAME_BYTES_MAX, 0)))
        made.writer.write(method(0, 10, 40, short("/") + short("") + b"\0"))
        await made._expect(10, 41)
        await made.call(method(CHANNEL, 20, 10, short("")), 20, 11)
        return made

    async def call(self, request: bytes, class_id: int, method_id: int) -> None:
        self.writer.write(request)
        await self._expect(class_id, method_id)

    async def declare(self, queue: str) -> None:
        """A quorum queue: durable, replicated by Raft, synced before it confirms."""
        table = short("x-queue-type") + b"S" + long(b"quorum")
        await self.call(method(CHANNEL, 50, 10, b"\0\0" + short(queue) + b"\x02" + long(table)), 50, 11)

    async def delete(self, queue: str) -> None:
        await self.call(method(CHANNEL, 50, 40, b"\0\0" + short(queue) + b"\0"), 50, 41)

    async def confirm(self) -> None:
        await self.call(method(CHANNEL, 85, 10, b"\0"), 85, 11)

    async def consume(self, queue: str, prefetch: int) -> None:
        await self.call(method(CHANNEL, 60, 10, struct.pack(">IHB", 0, prefetch, 0)), 60, 11)
        request = b"\0\0" + short(queue) + short("bench") + b"\0" + long(b"")
        await self.call(method(CHANNEL, 60, 20, request), 60, 21)

    async def confirms(self, on_confirmed: Callable[[int, bool], None]) -> None:
        """Calls with each tag, and whether it stands for all before it."""
        while True:
            kind, payload = await self._frame()
            where = struct.unpack_from(">HH", payload)
            if kind == METHOD and where == CONFIRM:
                tag, multiple = struct.unpack_from(">QB", payload, 4)
                on_confirmed(tag, bool(multiple))
            elif kind == METHOD and where == NACK:
                raise RuntimeError("RabbitMQ refused a message")

    async def deliveries(self, on_message: Callable[[int, bytes], None]) -> None:
        """Calls with the tag and the body of each message."""
        tag = left = 0
        body = b""
        while True:
            kind, payload = await self._frame()
            if kind == METHOD and struct.unpack_from(">HH", payload) == DELIVER:
                (tag,) = struct.unpack_from(">Q", payload, 5 + payload[4])
            elif kind == HEADER:
                (left,) = struct.unpack_from(">Q", payload, 4)
                body = b""
            elif kind == BODY:
                body += payload
                left -= len(payload)
                if left == 0:
                    on_message(tag, body)

    async def close(self) -> None:
        self.writer.close()
        await self.writer.wait_closed()

    async def _expect(self, class_id: int, method_id: int) -> None:
        kind, payload = await self._frame()
        found = struct.unpack_from(">HH", payload)
        if kind != METHOD or found != (class_id, method_id):
            raise RuntimeError(f"RabbitMQ answered {found}, not {(class_id, method_id)}: {payload!r}")

    async def _frame(self) -> tuple[int, bytes]:
        while True:
            kind, _, size = struct.unpack(">BHI", await self._reader.readexactly(7))
            payload = await self._reader.readexactly(size + 1)
            if kind <= BODY:  # else a heartbeat
                return kind, payload[:-1]
