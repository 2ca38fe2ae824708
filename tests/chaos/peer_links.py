"""TCP links between brokers that can be cut: each broker is reached by the others through a proxy of its own.

Who calls is read from the client id of the first request. A cut says nothing: bytes wait as packets of a cut
cable do, connections stay open, and the end of a process on the far side goes unnoticed. What waited arrives
late once the link is mended, or is reset with its connection.
"""

import asyncio
import random
import socket
import struct
import threading
from collections.abc import Iterable
from pathlib import Path

CHUNK_BYTES = 64 * 1024
CLIENT_ID_AT = 12  # after the size, api key, version and correlation id
HOST = "127.0.0.1"
PORT_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
FIRST_GIVEN = 32_768
"""Where the kernel does not say which ports it gives to outgoing connections."""

Pair = tuple[int, int]


class PeerLinks:
    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="peer links", daemon=True)
        self._ports: dict[int, int] = {}
        self._open: dict[Pair, asyncio.Event] = {}
        self._delays: dict[Pair, float] = {}
        self._wires: dict[asyncio.Task[None], None] = {}
        self._servers: list[asyncio.Server] = []
        self._thread.start()

    def add(self, node: int, port: int) -> int:
        """Where the others reach `node`, which itself listens at `port`."""
        self._ports[node] = port

        async def listen() -> int:
            server = await asyncio.start_server(
                lambda reader, writer: self._accepted(node, reader, writer), HOST, 0
            )
            self._servers.append(server)
            return int(server.sockets[0].getsockname()[1])

        return asyncio.run_coroutine_threadsafe(listen(), self._loop).result()

    def close(self) -> None:
        async def end() -> None:
            for server in self._servers:
                server.close()
            for wire in tuple(self._wires):
                wire.cancel()
            await asyncio.gather(*self._wires, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # Faults

    def cut_one_way(self, sources: Iterable[int], targets: Iterable[int]) -> None:
        """Nothing of `sources` arrives at `targets`: neither their requests nor their answers."""
        pairs = [(a, b) for a in sources for b in targets]
        self._do(lambda: [self._gate(pair).clear() for pair in pairs])

    def cut(self, one_side: Iterable[int], other_side: Iterable[int]) -> None:
        ones, others = tuple(one_side), tuple(other_side)
        self.cut_one_way(ones, others)
        self.cut_one_way(others, ones)

    def slow(self, nodes: Iterable[int], seconds: float) -> None:
        """Whatever these send takes longer."""
        chosen = tuple(nodes)
        self._do(lambda: self._delays.update({(a, b): seconds for a in chosen for b in self._ports}))

    def mend(self, *, reset: bool = False) -> None:
        """Everybody reaches everybody. `reset`: what waited is lost, as after a long cut."""

        def work() -> None:
            self._delays.clear()
            if reset and not all(gate.is_set() for gate in self._open.values()):
                for wire in tuple(self._wires):
                    wire.cancel()
            for gate in self._open.values():
                gate.set()

        self._do(work)

    def _do(self, work: object) -> None:
        async def run() -> None:
            work()  # type: ignore[operator]

        asyncio.run_coroutine_threadsafe(run(), self._loop).result(10)

    # The proxy

    def _gate(self, pair: Pair) -> asyncio.Event:
        gate = self._open.get(pair)
        if gate is None:
            gate = self._open[pair] = asyncio.Event()
            gate.set()
        return gate

    def _accepted(self, target: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = self._loop.create_task(self._carry(target, reader, writer))
        self._wires[task] = None
        task.add_done_callback(lambda done: self._wires.pop(done, None))

    async def _carry(self, target: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far: asyncio.StreamWriter | None = None
        try:
            first = await _first_request(reader)
            source = source_of(first)
            for way in ((source, target), (target, source)):
                await self._gate(way).wait()  # a new connection needs both, whoever then talks
            back, far = await asyncio.open_connection(HOST, self._ports[target])
            far.write(first)
            pumps = [
                self._loop.create_task(self._pump((source, target), reader, far)),
                self._loop.create_task(self._pump((target, source), back, writer)),
            ]
            try:
                # The news that one side is gone travels on the same link, and waits with everything else.
                await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for pump in pumps:
                    pump.cancel()
                await asyncio.gather(*pumps, return_exceptions=True)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            for end in (writer, far):
                if end is not None:
                    end.transport.abort()

    async def _pump(self, pair: Pair, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        gate = self._gate(pair)
        data = b"."
        while data:
            try:
                data = await reader.read(CHUNK_BYTES)
            except OSError:
                data = b""
            if delay := self._delays.get(pair):
                await asyncio.sleep(delay)
            await gate.wait()
            writer.write(data)
            await writer.drain()


async def _first_request(reader: asyncio.StreamReader) -> bytes:
    """As much of it as names the caller."""
    head = await reader.readexactly(CLIENT_ID_AT + 2)
    (length,) = struct.unpack_from(">h", head, CLIENT_ID_AT)
    return head + await reader.readexactly(max(length, 0))


def source_of(first: bytes) -> int:
    """The node id in `broker-7`; 0 for a caller that is no broker, whose links are never cut."""
    name = first[CLIENT_ID_AT + 2 :].decode(errors="replace")
    kind, _, number = name.partition("-")
    return int(number) if kind == "broker" and number.isdigit() else 0


def free_ports(count: int) -> list[int]:
    """Ports that stay free while their broker is down: the kernel gives them to no outgoing connection."""
    first_given = int(PORT_RANGE.read_text().split()[0]) if PORT_RANGE.exists() else FIRST_GIVEN
    chance = random.SystemRandom()
    found: dict[int, None] = {}
    while len(found) < count:
        port = chance.randrange(10_000, first_given)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            found[port] = None
    return list(found)
