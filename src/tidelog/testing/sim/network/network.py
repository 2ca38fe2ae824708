"""The network between lives: TCP as a broker and its clients see it, and how it fails.

A connection carries frames in order, or breaks: before a request arrived, or after it was carried out and the
answer was under way. The sender cannot tell which. One-way messages between voters may also repeat
and overtake.
"""

import asyncio
import random
from collections.abc import Sequence

from tidelog.base.listener import Listener
from tidelog.base.ports import Buffer, Connection, Network
from tidelog.server.connection.shared_state import RequestDispatcher
from tidelog.server.listener import ListenError
from tidelog.testing.sim.network.lateness import Lateness
from tidelog.testing.sim.network.paths import Paths
from tidelog.testing.sim.network.server import SimServer
from tidelog.testing.sim.network.tcp import Tcp
from tidelog.testing.sim.runtime.life import Life
from tidelog.testing.sim.runtime.loop import SimLoop
from tidelog.testing.sim.runtime.trace import Trace

BACK_OFF_SECONDS = 0.05
BACK_OFF_SECONDS_MAX = 1.0
SIZE_BYTES = 4


class SimNetwork:
    def __init__(self, loop: SimLoop, chance: random.Random, trace: Trace) -> None:
        self.loop = loop
        self.chance = chance
        self.trace = trace
        self.paths = Paths(chance)
        self.lateness = Lateness(chance)
        self.connections: dict[Tcp, None] = {}
        self._servers: dict[tuple[str, int], SimServer] = {}
        self._down: dict[str, None] = {}

    def port_of(self, life: Life, host: str) -> "SimNodeNetwork":
        self._down.pop(host, None)
        return SimNodeNetwork(self, life, host)

    # Servers

    def bind(self, listener: Listener, server: SimServer) -> None:
        address = listener.host, listener.port
        if self.server_at(address) is not None:
            raise ListenError(f"cannot listen on {listener}: port {listener.port} is in use")
        self._servers[address] = server

    def unbind(self, listener: Listener, server: SimServer) -> None:
        address = listener.host, listener.port
        if self._servers.get(address) is server:
            del self._servers[address]

    def server_at(self, address: tuple[str, int]) -> SimServer | None:
        server = self._servers.get(address)
        return server if server is not None and server.life.is_alive else None

    # Deaths

    def life_died(self, life: Life, host: str, *, quietly: bool) -> None:
        """A machine whose process died closes its connections; one without power does not."""
        if quietly:
            self._down[host] = None
        for tcp in tuple(self.connections):
            if tcp.client is life:
                tcp.client_died(quietly)
            elif tcp.server_end is not None and tcp.server_end.life is life:
                tcp.server_died(quietly)

    def is_down(self, host: str) -> bool:
        return host in self._down


class SimNodeNetwork:
    """The network as one life sees it."""

    __slots__ = ("_host", "_life", "_network")

    def __init__(self, network: SimNetwork, life: Life, host: str) -> None:
        self._network = network
        self._life = life
        self._host = host

    def secure(self, config: object) -> None:
        """Nothing to load: simulated connections are plain."""

    def follow(self, config: object) -> None:
        """No setting of a broker changes its connections."""

    def connect(self, host: str, port: int) -> "SimConnection":
        return SimConnection(self._network, self._life, self._host, (host, port))

    def listen(
        self,
        dispatcher: RequestDispatcher,
        listeners: Sequence[Listener],
        limits: object = None,
        *,
        first: str | None = None,
    ) -> SimServer:
        return SimServer(self._network, self._life, dispatcher, listeners, first)

    async def close(self) -> None:
        """What it connected belongs to who asked for it."""


class SimConnection:
    """Connects when it is first used and again after it broke, as `PeerConnection` does."""

    def __init__(self, network: SimNetwork, life: Life, host: str, address: tuple[str, int]) -> None:
        self._network = network
        self._life = life
        self._host = host
        self._address = address
        self._tcp: Tcp | None = None
        self._failures = 0
        self._retry_at = 0.0
        self._closed = False

    def call(self, frame: Sequence[Buffer]) -> "asyncio.Future[memoryview]":
        answer: asyncio.Future[memoryview] = self._network.loop.create_future()
        tcp = self._usable()
        if tcp is None:
            answer.set_exception(ConnectionError(f"{self._address[0]} could not be reached a moment ago"))
        else:
            tcp.send(_joined(frame), answer)
        return answer

    def send(self, frame: Sequence[Buffer]) -> None:
        tcp = self._usable()
        if tcp is not None:
            tcp.send_one_way(_joined(frame))

    def post(self, frame: Sequence[Buffer]) -> None:
        """A request in its order on the connection that is not answered, such as one with acks=0."""
        tcp = self._usable()
        if tcp is not None:
            tcp.send(_joined(frame), None)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._tcp is not None:
            tcp, self._tcp = self._tcp, None
            tcp.close_by_client()

    def _usable(self) -> Tcp | None:
        if not self._life.is_alive:  # only its last, unfinished callback can come here
            return None
        if self._tcp is None and not self._closed and self._network.loop.now >= self._retry_at:
            self._tcp = Tcp(self._network, self._life, self._host, self._address, self._ended)
        return self._tcp

    def _ended(self, tcp: Tcp, was_made: bool) -> None:
        if tcp is not self._tcp:
            return
        self._tcp = None
        if was_made:
            self._failures = 0
        else:
            delay = min(BACK_OFF_SECONDS_MAX, BACK_OFF_SECONDS * 2 ** min(self._failures, 10))
            self._failures += 1
            self._retry_at = self._network.loop.now + delay * (0.75 + self._network.chance.random() / 2)


def _joined(frame: Sequence[Buffer]) -> bytearray:
    return bytearray().join(frame)[SIZE_BYTES:]


def _check(network: SimNodeNetwork) -> tuple[Network, Connection]:
    return network, network.connect("", 0)  # mypy proves here that they fill the ports
