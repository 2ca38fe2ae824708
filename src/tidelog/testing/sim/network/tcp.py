"""One simulated TCP connection: a client's end, and a server's end once the first frame has arrived.

Each end learns of the connection's end in its own time: at once when its peer is killed, after a long silence
when a path is blocked, never before its own life goes on.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from tidelog.testing.sim.network.lateness import must_be_in_time
from tidelog.testing.sim.runtime.life import Life

if TYPE_CHECKING:
    from tidelog.testing.sim.network.network import SimNetwork
    from tidelog.testing.sim.network.server import ServerEnd

SILENCE_SECONDS = 4.0
"""How long bytes may go unacknowledged before the kernel gives a connection up."""

STRAY_SECONDS = 0.05
REPEAT_SECONDS = 1.0
LATE_END_SECONDS = 0.05


class SimRequest:
    """A frame without its size, and the future of the answer; None for one-way messages."""

    __slots__ = ("answer", "frame")

    def __init__(self, frame: bytearray, answer: "asyncio.Future[memoryview] | None") -> None:
        self.frame = frame
        self.answer = answer


class Tcp:
    def __init__(
        self,
        network: "SimNetwork",
        client: Life,
        client_host: str,
        address: tuple[str, int],
        on_end: Callable[["Tcp", bool], None],
    ) -> None:
        self._network = network
        self._loop = network.loop
        self.client = client
        self.client_host = client_host
        self.address = address
        self._on_end = on_end
        self.server_end: ServerEnd | None = None
        self._waiting: dict[SimRequest, None] = {}
        self._client_knows_end = False
        self.is_open = True
        self._last_up = self._last_down = 0.0
        network.connections[self] = None

    # Up: from the client to the server

    def send(self, frame: bytearray, answer: "asyncio.Future[memoryview] | None") -> None:
        request = SimRequest(frame, answer)
        if answer is not None:
            self._waiting[request] = None
        self._carry_up(request)

    def send_one_way(self, frame: bytearray) -> None:
        """A message that expects to be lost at times: it may also overtake others, or come twice."""
        paths, loop = self._network.paths, self._loop
        if paths.happens(paths.repeat_rate):
            when = loop.now + self._network.chance.random() * REPEAT_SECONDS
            loop.call_at_world_time(when, self._stray, bytearray(frame), context=loop.world.context)
        if paths.happens(paths.stray_rate):
            if self._network.chance.random() < 0.5:
                when = loop.now + self._network.chance.random() * STRAY_SECONDS
                loop.call_at_world_time(when, self._stray, frame, context=loop.world.context)
            return
        self.send(frame, None)

    def _stray(self, frame: bytearray) -> None:
        """It comes outside of any order, perhaps to a later life of the receiver."""
        host = self.address[0]
        server = self._network.server_at(self.address)
        if server is not None and not self._network.paths.between(self.client_host, host).is_blocked:
            self._loop.call_soon(server.receive_stray, frame, self.client_host, context=server.life.context)

    def _carry_up(self, request: SimRequest) -> None:
        if not self.is_open:
            return
        network = self._network
        if network.paths.happens(network.paths.loss_rate):
            self.break_up()
            return
        late = network.lateness.of(request.frame, self.client_host) if request.answer is not None else None
        if late is not None:
            self._loop.call_at_world_time(
                self._loop.now + late, self._arrive_late, request.frame, context=self._loop.world.context
            )
            self.break_up()
            return
        path = network.paths.between(self.client_host, self.address[0])
        if path.is_blocked:
            path.held.append(partial(self._resumed, partial(self._carry_up, request)))
            self._give_up_after_silence()
            return
        self._last_up = max(self._loop.now + network.paths.delay(path), self._last_up, path.clogged_until)
        end = self.server_end
        if end is not None and end.life.is_alive:
            # The kernel has nothing to decide: straight to the process.
            self._loop.call_at_world_time(self._last_up, self._received, request, context=end.life.context)
        else:
            context = self._loop.world.context
            self._loop.call_at_world_time(self._last_up, self._arrive, request, context=context)

    def _arrive(self, request: SimRequest) -> None:
        """In the kernel of the server's machine, whatever its process does."""
        if not self.is_open:
            return
        network = self._network
        if self.server_end is None:
            server = network.server_at(self.address)
            if server is None:
                self._nobody_there()
                return
            self.server_end = server.accept(self)
        life = self.server_end.life
        if not life.is_alive:
            self._nobody_there()
            return
        self._loop.call_soon(self._received, request, context=life.context)

    def _arrive_late(self, frame: bytearray) -> None:
        """The connection is long over; a process reads what is left of it, and then that it is over."""
        server = self._network.server_at(self.address)
        if server is None or must_be_in_time(frame):
            return
        end = server.accept(self)
        context = end.life.context
        self._loop.call_soon(end.receive, SimRequest(frame, None), context=context)
        gone = self._loop.now + self._network.chance.random() * LATE_END_SECONDS
        self._loop.call_at_world_time(gone, end.lost, context=context)

    def _received(self, request: SimRequest) -> None:
        end = self.server_end
        if self.is_open and end is not None:
            self._network.trace.frame(self._loop.now, self.client.name, end.life.name, request.frame)
            end.receive(request)

    def _nobody_there(self) -> None:
        if self._network.is_down(self.address[0]):
            self._give_up_after_silence()
        else:
            self._tell_client(was_made=self.server_end is not None)

    # Down: from the server to the client

    def answer(self, request: SimRequest, frame: bytes) -> None:
        network = self._network
        if not self.is_open:
            return
        if network.paths.happens(network.paths.loss_rate):
            self.break_up()
            return
        path = network.paths.between(self.address[0], self.client_host)
        if path.is_blocked:
            path.held.append(partial(self._resumed, partial(self.answer, request, frame)))
            self._loop.call_later(SILENCE_SECONDS, self._server_gives_up)
            return
        self._last_down = max(self._loop.now + network.paths.delay(path), self._last_down, path.clogged_until)
        self._loop.call_at_world_time(
            self._last_down, self._answered, request, frame, context=self.client.context
        )

    def _answered(self, request: SimRequest, frame: bytes) -> None:
        if request in self._waiting:
            del self._waiting[request]
            self._network.trace.frame(self._loop.now, self.address[0], self.client.name, frame)
            if request.answer is not None and not request.answer.done():
                request.answer.set_result(memoryview(frame))

    # The end

    def close_by_client(self) -> None:
        """What was sent before still arrives: a request may be carried out long after it was given up."""
        self._client_knows_end = True
        self._waiting.clear()
        self._carry_end()

    def _carry_end(self) -> None:
        path = self._network.paths.between(self.client_host, self.address[0])
        if path.is_blocked:
            path.held.append(partial(self._resumed, self._carry_end))
        else:
            when = max(self._loop.now + self._network.paths.delay(), self._last_up, path.clogged_until)
            self._loop.call_at_world_time(when, self._tell_server, context=self._loop.world.context)

    def close_by_server(self) -> None:
        """After the answers that are under way."""
        self._tell_client(was_made=True)

    def break_up(self) -> None:
        """Both ends will notice."""
        if self.is_open:
            self.is_open = False
            self._tell_client(was_made=True)
            self._tell_server()

    def client_died(self, quietly: bool) -> None:
        if quietly:
            self._client_knows_end = True
        else:
            self.close_by_client()

    def server_died(self, quietly: bool) -> None:
        if not quietly and not self._network.paths.between(self.address[0], self.client_host).is_blocked:
            self._tell_client(was_made=True)

    def _resumed(self, go_on: Callable[[], None], survived: bool) -> None:
        if not survived:
            self.break_up()
        elif self.is_open:
            go_on()

    def _give_up_after_silence(self) -> None:
        when = self._loop.now + SILENCE_SECONDS
        self._loop.call_at_world_time(when, self._silence, context=self.client.context)

    def _silence(self) -> None:
        path = self._network.paths.between(self.client_host, self.address[0])
        gone = self.server_end is not None and not self.server_end.life.is_alive
        if path.is_blocked or gone or self._network.server_at(self.address) is None:
            self._end_client(was_made=self.server_end is not None)

    def _server_gives_up(self) -> None:
        if self._network.paths.between(self.address[0], self.client_host).is_blocked and self.server_end:
            self.server_end.lost()

    def _tell_client(self, *, was_made: bool) -> None:
        when = max(self._loop.now + self._network.paths.delay(), self._last_down)
        self._loop.call_at_world_time(
            when, partial(self._end_client, was_made=was_made), context=self.client.context
        )

    def _end_client(self, *, was_made: bool) -> None:
        if self._client_knows_end:
            return
        self._client_knows_end = True
        self.is_open = False
        self._network.connections.pop(self, None)
        self._on_end(self, was_made)
        waiting, self._waiting = self._waiting, {}
        for request in waiting:
            if request.answer is not None and not request.answer.done():
                request.answer.set_exception(ConnectionError(f"{self.address[0]} ended the connection"))

    def _tell_server(self) -> None:
        self.is_open = False
        self._network.connections.pop(self, None)
        end = self.server_end
        if end is not None:
            when = self._loop.now + self._network.paths.delay()
            self._loop.call_at_world_time(when, end.lost, context=end.life.context)
