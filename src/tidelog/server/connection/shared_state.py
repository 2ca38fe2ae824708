"""What the connections of one server share: the loop, the dispatcher, limits, memory, the log."""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.reply import PendingReply, Reply
from tidelog.server.connection.buffer_pool import BufferPool
from tidelog.server.connection.limits import Limits
from tidelog.server.connection.memory_budget import MemoryBudget
from tidelog.server.connection.outbox import Outbox
from tidelog.server.connection.receive_buffer import CHUNK_BYTES, CUP_BYTES, SIP_BYTES
from tidelog.server.counters import Counters
from tidelog.server.log_gate import LogGate

if TYPE_CHECKING:
    from tidelog.server.connection.connection import Connection

POOL_BYTES_MAX = 16 * 1024 * 1024

log = logging.getLogger("tidelog.server")


class RequestDispatcher(Protocol):
    def dispatch(self, frame: memoryview, connection: ClientConnection) -> Reply | PendingReply | None:
        """Answer a request now, later, or not at all (None: no answer is owed).

        The frame is writable and the dispatcher's own. A future is cancelled when the client leaves
        first. ProtocolError ends the connection.
        """
        ...

    def may_overlap(self, frame: memoryview) -> bool:
        """Whether the request may be under way together with others of its connection that may, too."""
        ...


class SharedState:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        dispatcher: RequestDispatcher,
        limits: Limits,
        on_end: "Callable[[Connection], None]",
    ) -> None:
        self.loop = loop
        self.dispatcher = dispatcher
        self.limits = limits
        self.on_end = on_end
        self.counters = Counters()
        self.budget = MemoryBudget(
            limits.held_bytes_max, limits.memory_patience_seconds, limits.stall_seconds
        )
        self.pool = BufferPool(min(POOL_BYTES_MAX, limits.held_bytes_max // 8))
        self.gate = LogGate(log)
        self.connections: set[Connection] = set()
        self.outbox = Outbox(loop)
        # Seconds of the loop's clock at the last tick: exact enough for limits, free to read.
        self.now = loop.time()
        self.chunk = bytearray(CHUNK_BYTES)
        self._chunk_view = memoryview(self.chunk)

    def chunk_window(self) -> memoryview:
        """As much of the shared chunk as memory allows.

        Cups for what is left to small frames, so that beginnings of large ones do not take it; sips
        beyond the cap.
        """
        budget = self.budget
        if budget.held < budget.half:
            return self._chunk_view
        return self._chunk_view[: SIP_BYTES if budget.exhausted else CUP_BYTES]

    def refuse(self, cause: str, message: str) -> None:
        """A log line that a stranger caused."""
        self.gate.write(cause, self.loop.time(), logging.WARNING, message)
