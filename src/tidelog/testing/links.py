"""Links between the brokers of an in-process cluster, which a test can isolate from each other."""

import asyncio
from collections.abc import Callable, Iterable, Sequence

from tidelog.base.ports import Buffer
from tidelog.server.clock import SystemRandom
from tidelog.server.peer_connections.peer_network import PeerConnection, PeerNetwork
from tidelog.server.tcp_network import TcpNetwork


class Links:
    """Asked from the brokers' threads, changed by the test's: one replaced frozen set at a time."""

    def __init__(self) -> None:
        self._isolated: frozenset[tuple[int, int]] = frozenset()
        self._ports: dict[int, int] = {}

    def isolate(self, one_side: Iterable[int], other_side: Iterable[int]) -> None:
        ones, others = tuple(one_side), tuple(other_side)
        self._isolated |= {(a, b) for a in ones for b in others} | {(b, a) for a in ones for b in others}

    def heal(self) -> None:
        self._isolated = frozenset()

    def is_isolated(self, source: int, port: int) -> bool:
        return bool(self._isolated) and (source, self._ports.get(port, -1)) in self._isolated

    def network_of(self, id: int, port: int) -> "Callable[[], TcpNetwork]":
        self._ports[port] = id
        return lambda: TcpNetwork(LinkedNetwork(self, id))


class LinkedNetwork(PeerNetwork):
    def __init__(self, links: Links, id: int) -> None:
        super().__init__(SystemRandom())
        self.links = links
        self.id = id

    def connect(self, host: str, port: int) -> "LinkedConnection":
        connection = LinkedConnection(self, host, port)
        self._connections[connection] = None
        return connection


class LinkedConnection(PeerConnection):
    """While the two brokers are isolated, drops requests and answers."""

    def __init__(self, network: LinkedNetwork, host: str, port: int) -> None:
        super().__init__(network, host, port)
        self._links, self._id, self._to = network.links, network.id, port
        self._name = f"{host}:{port}"

    def call(self, frame: Sequence[Buffer]) -> "asyncio.Future[memoryview]":
        if self._is_isolated():
            return self._refused()
        answer = super().call(frame)
        heard: asyncio.Future[memoryview] = asyncio.get_running_loop().create_future()

        def pass_on(done: "asyncio.Future[memoryview]") -> None:
            if heard.done():
                return
            if done.cancelled():
                heard.cancel()
            elif self._is_isolated():
                heard.set_exception(self._error())
            elif (error := done.exception()) is not None:
                heard.set_exception(error)
            else:
                heard.set_result(done.result())

        answer.add_done_callback(pass_on)
        heard.add_done_callback(lambda h: answer.cancel() if h.cancelled() else None)
        return heard

    def send(self, frame: Sequence[Buffer]) -> None:
        if not self._is_isolated():
            super().send(frame)

    def _is_isolated(self) -> bool:
        return self._links.is_isolated(self._id, self._to)

    def _refused(self) -> "asyncio.Future[memoryview]":
        refused: asyncio.Future[memoryview] = asyncio.get_running_loop().create_future()
        refused.set_exception(self._error())
        return refused

    def _error(self) -> ConnectionError:
        return ConnectionError(f"{self._name} is isolated from broker {self._id}")
