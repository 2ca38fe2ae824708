"""Sends responses over a plain socket: many buffers in one `sendmsg`, large file slices by `sendfile`."""

import asyncio
import errno
import os
import socket
from collections.abc import Callable

from tidelog.base.ports import FileSlice
from tidelog.server.connection.cold_slices import ColdSlices
from tidelog.server.connection.output_queue import BUFFERS_MAX, OutputQueue, goes_alone, truncated
from tidelog.server.connection.send_times import SendTimes, SendWait

# What one connection may send before the others get their turn.
TURN_BYTES = 4 * 1024 * 1024
# Of an encrypted file: as much as one connection may hold decrypted in memory.
DECRYPT_BYTES = 256 * 1024
# Tells TCP that a slice follows, so that a header does not travel in a packet of its own.
_MORE = getattr(socket, "MSG_MORE", 0)

_CLIENT_GONE = {
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


def client_is_gone(error: OSError) -> bool:
    """Returns whether the error means that the client left, and not a problem on this side."""
    return error.errno in _CLIENT_GONE


def _closed() -> None:
    """In place of `on_writable`, which refers to the connection: the two would live until a collection."""


class SocketWriter:
    """Sends from the output queue of a connection."""

    __slots__ = (
        "_cold",
        "_loop",
        "_on_writable",
        "_output",
        "_socket",
        "_wait_time",
        "_waiting",
        "waits_for_disk",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: socket.socket,
        output: OutputQueue,
        on_writable: Callable[[], None],
        times: SendTimes | None = None,
    ) -> None:
        self._output = output
        self._loop = loop
        self._socket = sock
        self._on_writable = on_writable
        self._waiting = False
        self._wait_time = None if times is None else SendWait(times)
        self._cold: ColdSlices | None = None  # most connections never send a file
        self.waits_for_disk = False

    def flush(self) -> None:
        """Send what the kernel takes now; `on_writable` is called when it takes more.

        Raises OSError when the client is gone and StorageError when a slice cannot be read to its end.
        """
        if self._waiting or self.waits_for_disk:
            return
        output = self._output
        parts = output.parts
        left = TURN_BYTES
        try:
            if len(parts) == 1 and not output.slices:  # the usual case
                output.sent(self._socket.send(parts[0]))  # type: ignore[arg-type]  # no slice
            while parts and left > 0:
                head = parts[0]
                if isinstance(head, FileSlice) and goes_alone(head):
                    sent = self._send_slice(head)
                    if not sent:
                        return
                    left -= sent
                else:
                    left -= self._send_gathered()
            if parts:
                self._wait()
        except (BlockingIOError, InterruptedError):
            self._wait()

    def close(self) -> None:
        self._stop_waiting()
        self._on_writable = _closed
        if self._cold is not None:
            self._cold.close()
            self._cold = None

    def _writable(self) -> None:
        self._stop_waiting()
        self._on_writable()
        if self._wait_time is not None and not self._waiting:
            self._wait_time.ends()

    def _wait(self) -> None:
        self._waiting = True
        if self._wait_time is not None:
            self._wait_time.begins()
        self._loop.add_writer(self._socket.fileno(), self._writable)

    def _stop_waiting(self) -> None:
        if self._waiting:
            self._waiting = False
            self._loop.remove_writer(self._socket.fileno())

    def _send_slice(self, head: FileSlice) -> int:
        """Returns the bytes sent; 0 if they must be read from disk first."""
        count = min(head.length, TURN_BYTES)
        cold = self._cold
        if cold is None:
            cold = self._cold = ColdSlices(self._loop, self._disk_has_answered)
        if cold.must_wait(head, count):
            self.waits_for_disk = True
            return 0
        fd = head.file.fileno()
        if fd < 0:
            return self._send_decrypted(head, cold)
        sent = os.sendfile(self._socket.fileno(), fd, head.position, count)
        if sent == 0:
            raise truncated(head)
        cold.sent(head, sent)
        self._output.sent(sent)
        return sent

    def _send_decrypted(self, head: FileSlice, cold: ColdSlices) -> int:
        """What the kernel does not take stays in memory: it would be decrypted again."""
        count = min(head.length, DECRYPT_BYTES)
        self._output.read_head(count)
        cold.sent(head, count)
        return self._send_gathered()

    def _disk_has_answered(self) -> None:
        self.waits_for_disk = False
        self._on_writable()

    def _send_gathered(self) -> int:
        output = self._output
        if output.slices or len(output.parts) > BUFFERS_MAX:
            buffers, more = output.gather()
            sent = self._socket.sendmsg(buffers, (), _MORE if more else 0)
        else:
            sent = self._socket.sendmsg(output.parts)  # type: ignore[arg-type]  # no slices here
        output.sent(sent)
        return sent
