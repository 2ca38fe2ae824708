"""Answers out of a TLS socket: small buffers joined into one record, file slices read into a shared buffer.

`sendfile` is out of the question: the kernel would send what is in the file, in plain text. After a write
that the kernel did not take whole, OpenSSL wants to see the same bytes again: the output queue still begins
with them.
"""

import asyncio
import errno
import os
import ssl
from collections.abc import Callable

from tidelog.base.ports import Buffer, FileSlice
from tidelog.server.connection.cold_slices import ColdSlices
from tidelog.server.connection.output_queue import OutputQueue, goes_alone, truncated
from tidelog.server.connection.send_times import SendTimes, SendWait
from tidelog.server.connection.writer import TURN_BYTES

CHUNK_BYTES = 256 * 1024
"""One call of OpenSSL: sixteen records."""


class TlsWriter:
    """Sends from the output queue of a connection."""

    __slots__ = (
        "_chunk",
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
        sock: ssl.SSLSocket,
        output: OutputQueue,
        on_writable: Callable[[], None],
        chunk: memoryview,
        *,
        times: SendTimes | None = None,
    ) -> None:
        """`chunk` is scratch memory that all connections of the loop share."""
        self._loop = loop
        self._socket = sock
        self._output = output
        self._on_writable: Callable[[], None] | None = on_writable
        self._chunk = chunk
        self._cold: ColdSlices | None = None
        self._waiting = False
        self._wait_time = None if times is None else SendWait(times)
        self.waits_for_disk = False

    def flush(self) -> None:
        if self._waiting or self.waits_for_disk:
            return
        output = self._output
        left = TURN_BYTES
        try:
            while output.parts and left > 0:
                head = output.parts[0]
                if isinstance(head, FileSlice) and goes_alone(head):
                    sent = self._send_slice(head)
                    if not sent:
                        return
                else:
                    sent = self._socket.send(self._joined())
                    output.sent(sent)
                left -= sent
            if output.parts:
                self._wait()
        except ssl.SSLWantWriteError:
            self._wait()
        except ssl.SSLError as error:  # the client broke off, in one of many ways
            raise ConnectionResetError(errno.ECONNRESET, str(error)) from error

    def close(self) -> None:
        self._stop_waiting()
        self._on_writable = None
        if self._cold is not None:
            self._cold.close()
            self._cold = None

    def _joined(self) -> Buffer:
        output = self._output
        if len(output.parts) == 1 and not output.slices:  # the usual case, without a copy
            return output.parts[0]  # type: ignore[return-value]  # no slice
        buffers, _ = output.gather(CHUNK_BYTES)
        return buffers[0] if len(buffers) == 1 else b"".join(buffers)

    def _send_slice(self, head: FileSlice) -> int:
        """0: the disk is asked for it, and then it goes on."""
        count = min(head.length, len(self._chunk))
        cold = self._cold
        if cold is None:
            cold = self._cold = ColdSlices(self._loop, self._disk_has_answered)
        if cold.must_wait(head, count):
            self.waits_for_disk = True
            return 0
        fd = head.file.fileno()
        if fd < 0:  # an encrypted file: what OpenSSL may want to see again stays in the queue
            self._output.read_head(count)
            cold.sent(head, count)
            sent = self._socket.send(self._output.parts[0])  # type: ignore[arg-type]  # the bytes
            self._output.sent(sent)
            return sent
        chunk = self._chunk[:count]
        if os.preadv(fd, [chunk], head.position) < count:
            raise truncated(head)
        sent = self._socket.send(chunk)
        cold.sent(head, sent)
        self._output.sent(sent)
        return sent

    def _disk_has_answered(self) -> None:
        self.waits_for_disk = False
        self._wake()

    def _writable(self) -> None:
        self._stop_waiting()
        self._wake()
        if self._wait_time is not None and not self._waiting:
            self._wait_time.ends()

    def _wake(self) -> None:
        if self._on_writable is not None:
            self._on_writable()

    def _wait(self) -> None:
        self._waiting = True
        if self._wait_time is not None:
            self._wait_time.begins()
        self._loop.add_writer(self._socket.fileno(), self._writable)

    def _stop_waiting(self) -> None:
        if self._waiting:
            self._waiting = False
            self._loop.remove_writer(self._socket.fileno())
