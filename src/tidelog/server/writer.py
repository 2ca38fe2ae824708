"""Answers on their way out of a plain socket.

The queue holds buffers and file slices. Buffers and small slices leave together in one `sendmsg`;
a large slice goes by `sendfile`, so its bytes never enter Python. Slices in the queue own no memory:
what a slow peer does not take is read again later.
"""

import asyncio
import errno
import os
import socket
from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice

from tidelog.base.errors import StorageError
from tidelog.base.ports import Buffer, FileSlice

# Below this a pread and a shared sendmsg beat a sendfile of its own (benches/connection.py).
SENDFILE_BYTES = 64 * 1024
BUFFERS_MAX = 512  # below every platform's limit per sendmsg
GATHER_BYTES = 512 * 1024
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


class SocketWriter:
    __slots__ = (
        "_loop",
        "_on_writable",
        "_queue",
        "_slices",
        "_socket",
        "_waiting",
        "memory_bytes",
        "pending_bytes",
        "sent_bytes",
    )

    def __init__(
        self, loop: asyncio.AbstractEventLoop, sock: socket.socket, on_writable: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._socket = sock
        self._on_writable = on_writable
        self._queue: deque[Buffer | FileSlice] = deque()
        self._slices = 0  # how many of the queue are slices
        self._waiting = False
        self.pending_bytes = 0  # all that is queued
        self.memory_bytes = 0  # of these, what occupies memory
        self.sent_bytes = 0

    def put(self, parts: Iterable[Buffer | FileSlice]) -> None:
        for part in parts:
            size = len(part)
            self.pending_bytes += size
            if type(part) is FileSlice:
                self._slices += 1
            else:
                self.memory_bytes += size
            self._queue.append(part)

    def flush(self) -> None:
        """Send what the kernel takes now; `on_writable` is called when it takes more.

        Raises OSError when the peer is gone and StorageError when a slice cannot be read to its end.
        """
        if self._waiting:
            return
        queue = self._queue
        left = TURN_BYTES
        try:
            while queue:
                head = queue[0]
                if type(head) is FileSlice and head.length > SENDFILE_BYTES and head.file.fileno() >= 0:
                    sent = self._send_slice(head)
                else:
                    sent = self._send_gathered()
                left -= sent
                if left <= 0 and queue:
                    self._wait()
                    return
        except (BlockingIOError, InterruptedError):
            self._wait()

    def writable(self) -> None:
        """The kernel takes bytes again."""
        self._stop_waiting()
        self._on_writable()

    def close(self) -> None:
        self._stop_waiting()
        self._queue.clear()
        self._slices = self.pending_bytes = self.memory_bytes = 0

    def _wait(self) -> None:
        self._waiting = True
        self._loop.add_writer(self._socket.fileno(), self.writable)

    def _stop_waiting(self) -> None:
        if self._waiting:
            self._waiting = False
            self._loop.remove_writer(self._socket.fileno())

    def _send_slice(self, head: FileSlice) -> int:
        count = min(head.length, TURN_BYTES)
        sent = os.sendfile(self._socket.fileno(), head.file.fileno(), head.position, count)
        if sent == 0:
            raise _cut_short(head)
        self._consume(sent)
        return sent

    def _send_gathered(self) -> int:
        queue = self._queue
        if not self._slices and len(queue) <= BUFFERS_MAX:
            sent = self._socket.sendmsg(queue)  # type: ignore[arg-type]
            if sent == self.pending_bytes:
                queue.clear()
                self.pending_bytes = self.memory_bytes = 0
                self.sent_bytes += sent
                return sent
        else:
            buffers, more = self._gather()
            sent = self._socket.sendmsg(buffers, (), _MORE if more else 0)
        self._consume(sent)
        return sent

    def _gather(self) -> tuple[list[Buffer], bool]:
        buffers: list[Buffer] = []
        size = 0
        for part in islice(self._queue, BUFFERS_MAX):
            if type(part) is FileSlice:
                if part.length > SENDFILE_BYTES and buffers and part.file.fileno() >= 0:
                    return buffers, True
                count = min(part.length, GATHER_BYTES)
                data = part.file.read_at(part.position, count)
                if len(data) < count:
                    raise _cut_short(part)
                buffers.append(data)
                size += count
                if count < part.length:
                    break
            else:
                buffers.append(part)  # type: ignore[arg-type]
                size += len(part)
            if size >= GATHER_BYTES:
                break
        return buffers, False

    def _consume(self, sent: int) -> None:
        """Drop `sent` bytes from the front of the queue."""
        self.sent_bytes += sent
        self.pending_bytes -= sent
        queue = self._queue
        while queue:
            part = queue[0]
            size = len(part)
            is_slice = type(part) is FileSlice
            if size > sent:
                if not sent:
                    return
                if is_slice:
                    queue[0] = FileSlice(part.file, part.position + sent, size - sent)  # type: ignore[union-attr]
                else:
                    queue[0] = memoryview(part)[sent:]  # type: ignore[arg-type]
                    self.memory_bytes -= sent
                return
            queue.popleft()
            sent -= size
            if is_slice:
                self._slices -= 1
            else:
                self.memory_bytes -= size


def _cut_short(part: FileSlice) -> StorageError:
    return StorageError(
        f"{part.file.path} ends before byte {part.position + part.length}, which was promised to a reader"
    )
