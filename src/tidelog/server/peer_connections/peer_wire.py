"""One TCP connection to another broker: request frames out, response frames in, in the same order.

It ends once: by `close`, by the peer, or because the peer broke the protocol. Waiting callers get the error.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

from tidelog.base.errors import ProtocolError
from tidelog.base.ports import Buffer
from tidelog.server.connection.buffer_pool import POOLED_BYTES, BufferPool
from tidelog.server.connection.receive_buffer import ReceiveBuffer

WAITING_MAX = 1_000
"""Requests that wait for their response on one connection."""

UNSENT_BYTES_MAX = 64 * 1024 * 1024
"""The most that is held for a peer that takes nothing."""


class HeldRequest(NamedTuple):
    frame: Sequence[Buffer]
    answer: "asyncio.Future[memoryview] | None"
    """None for a request without a response."""


class PeerWire(asyncio.BufferedProtocol):
    def __init__(
        self,
        name: str,
        chunk: bytearray,
        answer_bytes_max: int,
        pool: BufferPool,
        on_end: Callable[[], None],
        *,
        why_lost: Callable[[str, Exception], OSError] | None = None,
    ) -> None:
        """`why_lost` words the error of a connection that breaks, where there is more to say than that."""
        self.name = name
        self._loop = asyncio.get_running_loop()
        self._chunk = chunk
        self._pool = pool
        self._on_end = on_end
        self._why_lost = why_lost
        self._receive = ReceiveBuffer(chunk, answer_bytes_max, pool)
        self._transport: asyncio.WriteTransport | None = None
        self._is_open = False
        self._waiting: deque[asyncio.Future[memoryview]] = deque()
        self._held: list[HeldRequest] = []  # until the connection is open
        self._held_bytes = 0
        self._lent: object = None  # the buffer of the last large answer
        self._expects_silence = False
        self.has_answered = False
        self.timer: asyncio.TimerHandle | None = None
        """What its owner has planned for it; cancelled with the connection."""
        self.end: OSError | None = None

    # Requests

    def call(self, frame: Sequence[Buffer]) -> "asyncio.Future[memoryview]":
        answer: asyncio.Future[memoryview] = self._loop.create_future()
        if self.end is not None:
            answer.set_exception(self.end)
        elif len(self._waiting) + len(self._held) >= WAITING_MAX or self._is_stuck():
            answer.set_exception(ConnectionError(f"{self.name} does not keep up with its requests"))
        elif self._is_open and self._transport is not None:
            self._waiting.append(answer)
            self._transport.writelines(frame)
        else:
            self._hold(frame, answer)
        return answer

    def send(self, frame: Sequence[Buffer]) -> None:
        self._expects_silence = True
        if self.end is not None or self._is_stuck():
            return
        if self._is_open and self._transport is not None:
            self._transport.writelines(frame)
        else:
            self._hold(frame, None)

    def call_first(self, frame: Sequence[Buffer]) -> "asyncio.Future[memoryview]":
        """As `call`, ahead of the requests that are held: for what must precede them."""
        answer: asyncio.Future[memoryview] = self._loop.create_future()
        if self.end is not None or self._transport is None:
            answer.set_exception(self.end or ConnectionError(f"{self.name} is not connected"))
        else:
            self._waiting.append(answer)
            self._transport.writelines(frame)
        return answer

    def open(self) -> None:
        """Send what was held, and all further requests at once."""
        if self.end is not None or self._transport is None:
            return
        self._is_open = True
        held, self._held = self._held, []
        self._held_bytes = 0
        for frame, answer in held:
            if answer is not None:
                self._waiting.append(answer)
            self._transport.writelines(frame)

    def hold(self) -> None:
        """Keep further requests back until `open`."""
        self._is_open = False

    def _hold(self, frame: Sequence[Buffer], answer: "asyncio.Future[memoryview] | None") -> None:
        self._held.append(HeldRequest(frame, answer))
        self._held_bytes += sum(map(len, frame))

    def _is_stuck(self) -> bool:
        if self._transport is None:
            return self._held_bytes > UNSENT_BYTES_MAX
        return self._held_bytes + self._transport.get_write_buffer_size() > UNSENT_BYTES_MAX

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
            self.fail(ConnectionError(f"{self.name} {error}"))
            return
        self._receive.keep()
        if self._receive.room_wanted(short=False):
            self._receive.grow()

    def _answered(self, frame: memoryview) -> None:
        if not self._waiting:
            if self._expects_silence:
                return
            raise ProtocolError("sent a response without a request")
        self.has_answered = True
        answer = self._waiting.popleft()
        if not answer.done():  # else the caller has given up
            if len(frame) >= POOLED_BYTES:
                self._lent = frame.obj
            answer.set_result(frame)

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None and self._why_lost is not None:
            self.fail(self._why_lost(self.name, exc))
        else:
            self.fail(ConnectionError(f"{self.name} ended the connection" + (f": {exc}" if exc else "")))

    # The end

    def fail(self, error: OSError) -> None:
        """End the connection, and raise the error in every caller that waits."""
        if self.end is not None:
            return
        self.end = error
        if self.timer is not None:
            self.timer.cancel()
        if self._transport is not None:
            self._transport.abort()
        self._on_end()
        waiting = [*self._waiting, *(held.answer for held in self._held)]
        self._waiting.clear()
        self._held.clear()
        for answer in waiting:
            if answer is not None and not answer.done():
                answer.set_exception(error)
