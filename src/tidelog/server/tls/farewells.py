"""Sockets whose handshake failed, held for a moment: the client should read why before they are closed.

OpenSSL has sent an alert by then. A socket that is closed with unread bytes resets the connection, and the
reset may overtake the alert; so what the client still sends is taken away until it has left.
"""

import asyncio
import contextlib
from socket import SHUT_WR, socket

AT_ONCE_MAX = 256
SECONDS = 1.0
BYTES_MAX = 64 * 1024


class Farewells:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._open: dict[socket, asyncio.TimerHandle] = {}
        self._taken: dict[socket, int] = {}

    def begin(self, sock: socket) -> None:
        """Close the socket once its client has left, or after a second."""
        try:
            socket.shutdown(sock, SHUT_WR)  # of the TCP connection, whatever TLS thinks of its session
        except OSError:
            sock.close()
            return
        if len(self._open) >= AT_ONCE_MAX:
            sock.close()
            return
        self._open[sock] = self._loop.call_later(SECONDS, self._end, sock)
        self._taken[sock] = 0
        self._loop.add_reader(sock.fileno(), self._take, sock)

    def close(self) -> None:
        for sock in list(self._open):
            self._end(sock)

    def _take(self, sock: socket) -> None:
        try:
            data = socket.recv(sock, BYTES_MAX)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        self._taken[sock] += len(data)
        if not data or self._taken[sock] > BYTES_MAX:
            self._end(sock)

    def _end(self, sock: socket) -> None:
        self._open.pop(sock).cancel()
        del self._taken[sock]
        self._loop.remove_reader(sock.fileno())
        with contextlib.suppress(OSError):
            sock.close()
