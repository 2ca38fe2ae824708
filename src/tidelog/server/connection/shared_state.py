"""What the connections of one server share: the loop, the dispatcher, limits, memory, the log."""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.reply import PendingReply, Reply
from tidelog.server.connection.buffer_pool import BufferPool
from tidelog.server.connection.limits import ConnectionLimits
from tidelog.server.connection.memory_budget import MemoryBudget
from tidelog.server.connection.outbox import ResponseOutbox
from tidelog.server.connection.receive_buffer import CHUNK_BYTES, CUP_BYTES, SIP_BYTES
from tidelog.server.connection.send_times import SendTimes
from tidelog.server.counters import Counters
from tidelog.server.log_gate import LogGate

if TYPE_CHECKING:
    from tidelog.server.connection.connection import ServerConnection

POOL_BYTES_MAX = 16 * 1024 * 1024
SHORT_SHARE = 4

log = logging.getLogger("tidelog.server")


class RequestDispatcher(Protocol):
    def accepted(self, connection: ClientConnection) -> None:
        """A client has connected: give the connection the gate that its listener demands, if any."""
        ...

    def certificate_refused(self, connection: ClientConnection, reason: str) -> None:
        """A client did not become a connection: its certificate is missing, or names no principal here."""
        ...

    def dispatch(self, frame: memoryview, connection: ClientConnection) -> Reply | PendingReply | None:
        """Returns the reply, a future of it, or None if the request has no response.

        The frame is writable and belongs to the dispatcher. A future is cancelled when the client leaves
        first. ProtocolError ends the connection.
        """
        ...

    def overlap_group(self, frame: memoryview) -> int:
        """Requests of the same group may be under way together; one of group 0 is under way alone."""
        ...


class SharedState:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        dispatcher: RequestDispatcher,
        limits: ConnectionLimits,
        on_end: "Callable[[ServerConnection], None]",
    ) -> None:
        self.loop = loop
        self.dispatcher = dispatcher
        self.limits = limits
        self.on_end = on_end
        self.send_times: SendTimes | None = None
        """Measures responses that wait for their clients; None without metrics."""
        self.counters = Counters()
        self.budget = MemoryBudget(
            limits.held_bytes_max, limits.memory_patience_seconds, limits.stall_seconds
        )
        self._held_bytes_max = limits.held_bytes_max
        self.pool = BufferPool(self._pooled_bytes_max)
        self.gate = LogGate(log)
        self.connections: set[ServerConnection] = set()
        self.outbox = ResponseOutbox(loop)
        # Seconds of the loop's clock at the last tick: exact enough for limits, free to read.
        self.now = loop.time()
        self.chunk = bytearray(CHUNK_BYTES)
        self._chunk_view = memoryview(self.chunk)

    @property
    def _pooled_bytes_max(self) -> int:
        return min(POOL_BYTES_MAX, self._held_bytes_max // 8)

    def relieve(self, is_short: bool) -> None:
        """While memory is short, requests hold a quarter of what they may, and no buffer is kept."""
        self.budget.resize(self._held_bytes_max // SHORT_SHARE if is_short else self._held_bytes_max)
        self.pool.keep(0 if is_short else self._pooled_bytes_max)

    def chunk_window(self) -> memoryview:
        """Returns as much of the shared chunk as memory allows.

        A cup beyond half of the cap, since that half is kept for small frames and beginnings of large ones
        must not fill it; a sip beyond the cap.
        """
        budget = self.budget
        if budget.held < budget.half:
            return self._chunk_view
        return self._chunk_view[: SIP_BYTES if budget.exhausted else CUP_BYTES]

    def refuse(self, cause: str, message: str) -> None:
        """Log a problem that a client caused, at a bounded rate."""
        self.gate.write(cause, self.loop.time(), logging.WARNING, message)
