"""Answers out of a plain socket: many buffers in one `sendmsg`, large file slices by `sendfile`."""

import asyncio
import errno
import os
import socket
from collections.abc import Callable
from typing import Protocol

from tidelog.base.ports import Buffer, FileSlice
from tidelog.server.output_queue import BUFFERS_MAX, OutputQueue, cut_short, goes_by_sendfile

# What one connection may send before the others get their turn.
TURN_BYTES = 4 * 1024 * 1024
# Tells TCP that a slice follows, so that a header does not travel in a packet of its own.
_MORE = getattr(socket, "MSG_MORE", 0)

_PEER_GONE = {
    errno.EPIPE,
    errno.ECONNRESET,
    errno.ECONNABORTED,
    errno.ENOTCONN,
    errno.ESHUTDOWN,
    errno.ETIMEDOUT,
    errno.EHOSTUNREACH,
    errno.ENETUNREACH,
    errno.ENETDOWN,
}


def peer_is_gone(error: OSError) -> bool:
    """Whether an error tells of a peer that left, rather than of trouble on this side."""
    return error.errno in _PEER_GONE


class Writer(Protocol):
    """What a connection needs of its output."""

    @property
    def pending_bytes(self) -> int: ...

    @property
    def memory_bytes(self) -> int: ...

    @property
    def sent_bytes(self) -> int: ...

    def put(self, parts: list[Buffer | FileSlice], /) -> None: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...


class SocketWriter(OutputQueue):
    __slots__ = ("_loop", "_on_writable", "_socket", "_waiting")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, sock: socket.socket, on_writable: Callable[[], None]
    ) -> None:
        super().__init__()
        self._loop = loop
        self._socket = sock
        self._on_writable = on_writable
        self._waiting = False

    def flush(self) -> None:
        """Send what the kernel takes now; `on_writable` is called when it takes more.

        Raises OSError when the peer is gone and StorageError when a slice cannot be read to its end.
        """
        if self._waiting:
            return
        parts = self._parts
        left = TURN_BYTES
        try:
            while parts and left > 0:
                head = parts[0]
                if isinstance(head, FileSlice) and goes_by_sendfile(head):
                    left -= self._send_slice(head)
                else:
                    left -= self._send_gathered()
            if parts:
                self._wait()
        except (BlockingIOError, InterruptedError):
            self._wait()

    def close(self) -> None:
        self._stop_waiting()
        self.clear()

    def _writable(self) -> None:
        self._stop_waiting()
        self._on_writable()

    def _wait(self) -> None:
        self._waiting = True
        self._loop.add_writer(self._socket.fileno(), self._writable)

    def _stop_waiting(self) -> None:
        if self._waiting:
            self._waiting = False
            self._loop.remove_writer(self._socket.fileno())

    def _send_slice(self, head: FileSlice) -> int:
        count = min(head.length, TURN_BYTES)
        sent = os.sendfile(self._socket.fileno(), head.file.fileno(), head.position, count)
        if sent == 0:
            raise cut_short(head)
        self.sent(sent)
        return sent

    def _send_gathered(self) -> int:
        parts = self._parts
        if self._slices or len(parts) > BUFFERS_MAX:
            buffers, more = self.gather()
            sent = self._socket.sendmsg(buffers, (), _MORE if more else 0)
            self.sent(sent)
            return sent
        if len(parts) == 1:
            sent = self._socket.send(parts[0])  # type: ignore[arg-type]  # no slices here
        else:
            sent = self._socket.sendmsg(parts)  # type: ignore[arg-type]  # nor here
        if sent == self.pending_bytes:
            self.clear()
            self.sent_bytes += sent
        else:
            self.sent(sent)
        return sent
