"""Answers through a transport of the loop, where bytes pass through Python anyway (TLS).

Slices are read in bounded pieces, and only as fast as the transport gets rid of them.
"""

import asyncio
from collections.abc import Callable

from tidelog.server.output_queue import OutputQueue

PIECE_BYTES = 64 * 1024


class TransportWriter(OutputQueue):
    __slots__ = ("_on_writable", "_paused", "_transport")

    def __init__(self, transport: asyncio.WriteTransport, on_writable: Callable[[], None]) -> None:
        super().__init__()
        self._transport = transport
        self._on_writable = on_writable
        self._paused = False
        transport.set_write_buffer_limits(high=2 * PIECE_BYTES)

    def flush(self) -> None:
        """Hand pieces to the transport until it asks for a pause. Raises StorageError as SocketWriter."""
        while self._parts and not self._paused:
            buffers, _ = self.gather(PIECE_BYTES)
            count = sum(map(len, buffers))
            self._transport.writelines(buffers)
            self.sent(count)

    def pause(self) -> None:
        self._paused = True

    def resume(self) -> None:
        self._paused = False
        self._on_writable()

    def close(self) -> None:
        self.clear()
