"""When a connection has been silent, or has left its responses unread, for too long.

Looked at with every tick of the server, so the limits are as exact as a tick.
"""

from typing import NamedTuple

from tidelog.server.connection.in_flight import InFlight
from tidelog.server.connection.limits import ConnectionLimits
from tidelog.server.connection.memory_claim import MemoryClaim
from tidelog.server.connection.output_queue import OutputQueue
from tidelog.server.connection.receive_buffer import ReceiveBuffer
from tidelog.server.connection.transport import ResponseWriter, Transport


class Overdue(NamedTuple):
    """Why a connection must end."""

    what: str
    cause: str | None = None
    """Under which the log counts it; None where the client did nothing wrong."""


class TimeLimits:
    __slots__ = (
        "_in_flight",
        "_memory",
        "_output",
        "_receive",
        "_sent_mark",
        "_unread_since",
        "last_busy",
        "last_read",
    )

    def __init__(
        self,
        receive: ReceiveBuffer,
        in_flight: InFlight,
        output: OutputQueue,
        memory: MemoryClaim,
        now: float,
    ) -> None:
        self._receive = receive
        self._in_flight = in_flight
        self._output = output
        self._memory = memory
        self.last_read = self.last_busy = now
        self._unread_since: float | None = None
        self._sent_mark = 0  # bytes sent when `_unread_since` was set

    def overdue(
        self, now: float, limits: ConnectionLimits, transport: Transport, writer: ResponseWriter
    ) -> Overdue | None:
        """Returns None while all limits are kept."""
        unread = self._unread_for(now, writer)
        if unread >= limits.unread_answer_seconds:
            return Overdue(f"took no byte of its answers for {unread:.1f} s", "unread answers")
        if self._in_flight.count or self._unread_since is not None:
            self.last_busy = now
        quiet = now - self.last_read
        if not transport.reading:
            return self._overdue_in_line(quiet, limits, transport) if self._memory.in_line else None
        if self._receive.mid_frame:
            if quiet >= limits.half_frame_seconds:
                return Overdue(f"sent half a frame, then nothing for {quiet:.1f} s", "half frames")
        elif quiet >= limits.idle_seconds and now - self.last_busy >= limits.idle_seconds:
            return Overdue(f"was idle for {quiet:.1f} s")
        return None

    def _overdue_in_line(
        self, quiet: float, limits: ConnectionLimits, transport: Transport
    ) -> Overdue | None:
        """A connection that waits for memory does not read, and so misses that its client has left."""
        if transport.client_has_left():
            return Overdue("left while it waited for memory")
        if quiet >= limits.half_frame_seconds:
            return Overdue(f"sent half a frame, and memory was short for {quiet:.1f} s", "half frames")
        return None

    def _unread_for(self, now: float, writer: ResponseWriter) -> float:
        """Returns the seconds since the client last took a byte of the responses that wait for it."""
        output = self._output
        if not output.pending_bytes:
            self._unread_since = None
            return 0.0
        if self._unread_since is None or writer.waits_for_disk or output.sent_bytes != self._sent_mark:
            self._sent_mark = output.sent_bytes
            self._unread_since = now
        return now - self._unread_since
