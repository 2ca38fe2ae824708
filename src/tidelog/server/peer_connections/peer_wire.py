"""One TCP connection to another broker: request frames out, response frames in, in the same order.

It ends once: by `close`, by the peer, or because the peer broke the protocol. Waiting callers get the error.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import cast

from tidelog.base.errors import ProtocolError
from tidelog.base.ports import Buffer
from tidelog.server.connection.buffer_pool import POOLED_BYTES, BufferPool
from tidelog.server.connection.receive_buffer import ReceiveBuffer

WAITING_MAX = 1_000
"""Requests that wait for their response on one connection."""

UNSENT_BYTES_MAX = 64 * 1024 * 1024
"""The most that is held for a peer that takes nothing."""


class PeerWire(asyncio.BufferedProtocol):
    def __init__(
        self, name: str, chunk: bytearray, answer_bytes_max: int, pool: BufferPool, on_end: Callable[[], None]
    ) -> None:
        self._name = name
        self._chunk = chunk
        self._pool = pool
        self._on_end = on_end
        self._receive = ReceiveBuffer(chunk, answer_bytes_max, pool)
        self._transport: asyncio.WriteTransport | None = None
        self._waiting: deque[asyncio.Future[memoryview]] = deque()
        self._unsent: list[Buffer] = []  # until the connection is there
        self._unsent_bytes = 0
        self._lent: object = None  # the buffer of the last large answer
        self._expects_silence = False
        self.end: OSError | None = None

    # Requests

    def call(self, frame: Sequence[Buffer]) -> "asyncio.Future[memoryview]":
        answer: asyncio.Future[memoryview] = asyncio.get_running_loop().create_future()
        if self.end is not None:
            answer.set_exception(self.end)
        elif len(self._waiting) >= WAITING_MAX or self._is_stuck():
            answer.set_exception(ConnectionError(f"{self._name} does not keep up with its requests"))
        else:
            self._waiting.append(answer)
            self._write(frame)
        return answer

    def send(self, frame: Sequence[Buffer]) -> None:
        self._expects_silence = True
        if self.end is None and not self._is_stuck():
            self._write(frame)

    def _write(self, frame: Sequence[Buffer]) -> None:
        if self._transport is None:
            self._unsent += frame
            self._unsent_bytes += sum(map(len, frame))
        else:
            self._transport.writelines(frame)

    def _is_stuck(self) -> bool:
        if self._transport is None:
            return self._unsent_bytes > UNSENT_BYTES_MAX
        return self._transport.get_write_buffer_size() > UNSENT_BYTES_MAX

    def _take_back(self) -> None:
        """Offer the buffer of the last large response to the pool, which drops it if views of it are left.

        Right after the response was delivered would be too early: the loop still holds it then.
        """
        if self._lent is not None:
            self._pool.give(self._lent)
            self._lent = None

    # What the transport calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not `isinstance`: uvloop's transports are none of asyncio's classes, they only behave like them.
        writable = cast(asyncio.WriteTransport, transport)
        if self.end is not None:
            writable.abort()
            return
        self._transport = writable
        unsent, self._unsent = self._unsent, []
        self._unsent_bytes = 0
        if unsent:
            writable.writelines(unsent)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._receive.writable() or memoryview(self._chunk)

    def buffer_updated(self, nbytes: int) -> None:
        if self.end is not None or not self._receive.received(nbytes):
            return
        self._take_back()
        try:
            while (frame := self._receive.next_frame()) is not None:
                self._answered(frame)
        except ProtocolError as error:
            self.fail(ConnectionError(f"{self._name} {error}"))
            return
        self._receive.keep()
        if self._receive.room_wanted(short=False):
            self._receive.grow()

    def _answered(self, frame: memoryview) -> None:
        if not self._waiting:
            if self._expects_silence:
                return
            raise ProtocolError("sent a response without a request")
        answer = self._waiting.popleft()
        if not answer.done():  # else the caller has given up
            if len(frame) >= POOLED_BYTES:
                self._lent = frame.obj
            answer.set_result(frame)

    def connection_lost(self, exc: Exception | None) -> None:
        self.fail(ConnectionError(f"{self._name} ended the connection" + (f": {exc}" if exc else "")))

    # The end

    def fail(self, error: OSError) -> None:
        """End the connection, and raise the error in every caller that waits."""
        if self.end is not None:
            return
        self.end = error
        self._unsent.clear()
        if self._transport is not None:
            self._transport.abort()
        self._on_end()
        waiting, self._waiting = self._waiting, deque()
        for answer in waiting:
            if not answer.done():
                answer.set_exception(error)
