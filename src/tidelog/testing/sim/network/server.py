"""The server of a simulated node: requests to its dispatcher as they come, answers in their order.

As on a real connection, a request that may not overlap with others waits for those before it.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidelog.base.errors import ProtocolError, StorageError
from tidelog.base.listener import Listener
from tidelog.base.ports import FileSlice
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.reply import PendingReply, Reply
from tidelog.server.connection.shared_state import RequestDispatcher
from tidelog.testing.sim.network.tcp import SimRequest, Tcp
from tidelog.testing.sim.runtime.life import Life

if TYPE_CHECKING:
    from tidelog.testing.sim.network.network import SimNetwork

ReplyOrPending = Reply | PendingReply

log = logging.getLogger("tidelog.server")


class SimServer:
    """Stands in for `tidelog.server.server.Server`."""

    def __init__(
        self,
        network: "SimNetwork",
        life: Life,
        dispatcher: RequestDispatcher,
        listeners: Sequence[Listener],
        first: str | None = None,
    ) -> None:
        self._network = network
        self.life = life
        self.dispatcher = dispatcher
        self.addresses = list(listeners)
        self.is_draining = False
        self._ends: dict[ServerEnd, None] = {}
        self._emptied = asyncio.Event()
        self._accepted = 0
        self._closed_yet = [listener for listener in listeners if first not in (None, listener.name)]
        for listener in listeners:
            if listener not in self._closed_yet:
                network.bind(listener, self)

    def accept(self, tcp: Tcp) -> "ServerEnd":
        self._accepted += 1
        name = next(where.name for where in self.addresses if (where.host, where.port) == tcp.address)
        client = ClientConnection(tcp.client_host, 40_000 + self._accepted, name, self._accepted)
        self.dispatcher.accepted(client)
        end = ServerEnd(self, tcp, client)
        self._ends[end] = None
        return end

    def receive_stray(self, frame: bytearray, host: str) -> None:
        """A one-way message outside of any connection."""
        if not self.is_draining:
            try:
                self.dispatcher.dispatch(memoryview(frame), ClientConnection(host, 1, self.addresses[0].name))
            except ProtocolError as error:
                log.info("a stray message from %s: %s", host, error)

    def open(self) -> None:
        while self._closed_yet:
            self._network.bind(self._closed_yet.pop(), self)

    def change_limits(self, limits: object) -> None:
        """There are none here."""

    def relieve(self, is_short: bool) -> None:
        """Memory is never short here."""

    def stop_accepting(self) -> None:
        for listener in self.addresses:
            self._network.unbind(listener, self)

    async def drain(self, seconds: float) -> int:
        self.stop_accepting()
        self.is_draining = True
        if any(end.is_busy for end in self._ends):
            self._emptied.clear()
            try:
                await asyncio.wait_for(self._emptied.wait(), seconds)
            except TimeoutError:
                pass
        interrupted = sum(end.is_busy for end in self._ends)
        self.close()
        return interrupted

    def close(self) -> None:
        self.stop_accepting()
        for end in tuple(self._ends):
            end.close()

    def became_idle(self) -> None:
        if self.is_draining and not any(end.is_busy for end in self._ends):
            self._emptied.set()

    def ended(self, end: "ServerEnd") -> None:
        self._ends.pop(end, None)
        self.became_idle()


class ServerEnd:
    """The server's end of one connection."""

    __slots__ = ("_closed", "_outcomes", "_overlap_group", "_put_off", "_server", "_tcp", "client", "life")

    def __init__(self, server: SimServer, tcp: Tcp, client: ClientConnection) -> None:
        self._server = server
        self._tcp = tcp
        self.client = client
        self.life = server.life
        self._closed = False
        self._outcomes: deque[tuple[SimRequest, ReplyOrPending]] = deque()
        self._put_off: deque[SimRequest] = deque()
        self._overlap_group = 0

    @property
    def is_busy(self) -> bool:
        return bool(self._outcomes)

    def receive(self, request: SimRequest) -> None:
        if self._closed or self._server.is_draining:
            return
        self._put_off.append(request)
        self._begin()

    def _begin(self) -> None:
        """Those that have arrived, as far as they need not wait."""
        while self._put_off and not self._closed and not self._server.is_draining:
            group = self._server.dispatcher.overlap_group(memoryview(self._put_off[0].frame))
            if self._outcomes and (not group or group != self._overlap_group):
                return
            self._overlap_group = group
            self._dispatch(self._put_off.popleft())

    def _dispatch(self, request: SimRequest) -> None:
        try:
            outcome = self._server.dispatcher.dispatch(memoryview(request.frame), self.client)
        except (ProtocolError, StorageError) as error:
            log.warning("%s: %s; closing", self.client, error)
            self.close()
            return
        except Exception:
            log.exception("%s: a request failed inside the broker; closing the connection", self.client)
            self.close()
            return
        if outcome is None:
            return
        self._outcomes.append((request, outcome))
        if not isinstance(outcome, Reply):
            outcome.add_done_callback(self._done)
        self._flush()

    def _done(self, _: object) -> None:
        if not self._closed:
            self._flush()
            self._begin()
            self._server.became_idle()

    def _flush(self) -> None:
        outcomes = self._outcomes
        while outcomes and not self._closed:
            request, outcome = outcomes[0]
            if not isinstance(outcome, Reply):
                if not outcome.done():
                    return
                try:
                    reply = outcome.result()
                except (ProtocolError, StorageError, asyncio.CancelledError):
                    self.close()
                    return
                except Exception:
                    log.exception("%s: a request failed inside the broker", self.client)
                    self.close()
                    return
            else:
                reply = outcome
            outcomes.popleft()
            if reply is None:
                continue
            try:
                answer = _joined(reply)
            except OSError as error:  # the disk under a file slice
                log.warning("%s: %s; closing", self.client, error)
                self.close()
                return
            if answer:
                self._tcp.answer(request, answer[4:])
            if reply.close:
                self.close()

    def close(self) -> None:
        if not self._closed:
            self._tcp.close_by_server()
            self.lost()

    def lost(self) -> None:
        """The client is gone: what is under way has no reader."""
        if self._closed:
            return
        self._closed = True
        self._put_off.clear()
        outcomes, self._outcomes = self._outcomes, deque()
        for _, outcome in outcomes:
            if not isinstance(outcome, Reply):
                outcome.cancel()
        self.client.closed()
        self._server.ended(self)


def _joined(reply: Reply) -> bytes:
    return b"".join(part.read() if isinstance(part, FileSlice) else part for part in reply.parts)
