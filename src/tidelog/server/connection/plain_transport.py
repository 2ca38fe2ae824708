"""A plain TCP socket under a connection, on the loop's bare readiness calls.

Used in place of the loop's own transport: asyncio and uvloop behave the same on it, it costs no
second descriptor for direct sends, and it takes a few receives per turn of the loop, so that
no client can starve the others.
"""

import asyncio
import contextlib
import fcntl
import select
import socket
import struct
import termios

from tidelog.server.connection.transport import Receiver

# After a full buffer more bytes are likely there: receive again without waiting for the loop.
RECEIVES_PER_TURN = 3

_LEFT: int = getattr(select, "POLLRDHUP", 0)
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER with no time: drop what is queued, tell the client at once


class PlainTransport:
    __slots__ = ("_fd", "_loop", "_protocol", "reading", "socket")

    def __init__(self, loop: asyncio.AbstractEventLoop, sock: socket.socket, protocol: Receiver) -> None:
        self._loop = loop
        self.socket = sock
        self._fd = sock.fileno()
        self._protocol: Receiver | None = protocol
        self.reading = False

    def resume_reading(self) -> None:
        if not self.reading and self._fd >= 0:
            self.reading = True
            self._loop.add_reader(self._fd, self._readable)

    def pause_reading(self) -> None:
        if self.reading:
            self.reading = False
            self._loop.remove_reader(self._fd)

    def has_unread_input(self) -> bool:
        return has_unread_input(self._fd)

    def client_has_left(self) -> bool:
        return has_left(self._fd)

    def end_of_answers(self) -> None:
        """Tell the client that no more bytes follow; it may still send."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Release the socket; bytes that the kernel has taken are still delivered."""
        self.pause_reading()
        self._fd = -1
        self.socket.close()
        self._protocol = None  # a cycle of references would keep both until a garbage collection

    def abort(self) -> None:
        """Release the socket and drop the bytes that the kernel holds for it."""
        drop_on_close(self.socket)
        self.close()

    def _readable(self) -> None:
        protocol = self._protocol
        if protocol is None:
            return
        for _ in range(RECEIVES_PER_TURN):
            buffer = protocol.get_buffer(-1)
            try:
                count = self.socket.recv_into(buffer)
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                protocol.connection_lost(error)
                return
            if not count:
                protocol.eof_received()
                return
            is_full = count == len(buffer)
            del buffer  # the pool takes a frame's buffer back only if no view of it is left
            protocol.buffer_updated(count)
            if not (is_full and self.reading):
                return


def has_unread_input(fd: int) -> bool:
    """Returns whether the kernel holds bytes of the client that were not received."""
    try:
        return any(fcntl.ioctl(fd, termios.FIONREAD, bytes(4)))
    except OSError:
        return False


def has_left(fd: int) -> bool:
    """Returns whether the client has ended its side, behind unreceived bytes. Only Linux can tell."""
    if fd < 0 or not _LEFT:
        return False
    look = select.poll()
    look.register(fd, _LEFT)
    return bool(look.poll(0))


def drop_on_close(sock: socket.socket) -> None:
    """The kernel drops what it holds for the client, and tells it at once."""
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
