"""A TLS socket under a connection, on the loop's bare readiness calls.

OpenSSL may hold decrypted bytes that the kernel knows nothing of, so readiness of the socket is not the whole
story: before this transport waits for the socket, it asks OpenSSL.
"""

import asyncio
import contextlib
import ssl
from functools import partial
from socket import SHUT_WR
from socket import socket as plain_socket
from typing import Any

from tidelog.server.connection.plain_transport import drop_on_close, has_left, has_unread_input
from tidelog.server.connection.transport import Receiver

RECORD_BYTES = 16 * 1024
RECEIVES_PER_TURN = 32
"""Of a record each: 512 KiB at most, then the others have their turn."""


class TlsTransport:
    __slots__ = ("_fd", "_is_over", "_loop", "_protocol", "_scheduled", "reading", "socket")

    def __init__(self, loop: asyncio.AbstractEventLoop, sock: ssl.SSLSocket, protocol: Receiver) -> None:
        self.socket = sock
        self.reading = False
        self._fd = sock.fileno()
        self._loop = loop
        self._protocol: Receiver | None = protocol
        self._scheduled: asyncio.Handle | None = None
        self._is_over = False  # the session has ended; bytes that still arrive are only taken away

    def resume_reading(self) -> None:
        if not self.reading and self._fd >= 0:
            self.reading = True
            self._loop.add_reader(self._fd, self._readable)
            if self.socket.pending():
                self._schedule()

    def pause_reading(self) -> None:
        if self.reading:
            self.reading = False
            self._loop.remove_reader(self._fd)
        if self._scheduled is not None:
            self._scheduled.cancel()
            self._scheduled = None

    def has_unread_input(self) -> bool:
        return self.socket.pending() > 0 or has_unread_input(self._fd)

    def client_has_left(self) -> bool:
        return has_left(self._fd)

    def end_of_answers(self) -> None:
        self._say_goodbye()
        self._is_over = True
        with contextlib.suppress(OSError):
            plain_socket.shutdown(self.socket, SHUT_WR)  # the SSL socket's own would forget its session

    def close(self) -> None:
        if self._fd >= 0:
            self._say_goodbye()
        self._release()

    def abort(self) -> None:
        drop_on_close(self.socket)
        self._release()

    def _say_goodbye(self) -> None:
        """Without TLS's own end (`close_notify`) a client cannot tell a close from a stream that was cut."""
        with contextlib.suppress(OSError, ValueError):
            self.socket.unwrap()

    def _release(self) -> None:
        self.pause_reading()
        self._fd = -1
        self.socket.close()
        self._protocol = None  # they know each other, and would wait for the garbage collector together

    def _schedule(self) -> None:
        if self._scheduled is None:
            self._scheduled = self._loop.call_soon(self._read_rest)

    def _read_rest(self) -> None:
        self._scheduled = None
        self._readable()

    def _readable(self) -> None:
        protocol = self._protocol
        if protocol is None:
            return
        sock = self.socket
        read: Any = sock.read if not self._is_over else partial(_read_raw, sock)  # returns a count
        pending = sock.pending
        for _ in range(RECEIVES_PER_TURN):
            buffer = protocol.get_buffer(-1)
            try:
                count = read(len(buffer), buffer)
            except ssl.SSLWantReadError:
                return
            except OSError as error:
                protocol.connection_lost(error)
                return
            if not count:
                protocol.eof_received()
                return
            del buffer  # the pool takes a frame's buffer back only if no view of it is left
            protocol.buffer_updated(count)
            if not self.reading:
                return
            # A full record is seldom the last one, and neither is one within a large frame: librdkafka sends
            # a record for each message of a batch. After another small one the loop may as well be asked.
            if count < RECORD_BYTES and not (pending() or self._is_over or protocol.expects_more()):
                return
        if not self._is_over and pending():
            self._schedule()


def _read_raw(sock: ssl.SSLSocket, _: int, buffer: memoryview) -> int:
    try:
        return plain_socket.recv_into(sock, buffer)
    except BlockingIOError as error:
        raise ssl.SSLWantReadError from error
