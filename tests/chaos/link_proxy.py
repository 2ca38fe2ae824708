"""The proxies between brokers, as a process of their own: what clients and checks do must not slow them down.

Reads commands from its standard input, one JSON object a line, and answers each with a line. Whose
connection it is, is read from the client id of the first request.
"""

import asyncio
import json
import struct
import sys
from typing import Any

CHUNK_BYTES = 64 * 1024
CLIENT_ID_AT = 12  # after the size, api key, version and correlation id
HOST = "127.0.0.1"

Pair = tuple[int, int]


class LinkProxy:
    def __init__(self) -> None:
        self._ports: dict[int, int] = {}
        self._open: dict[Pair, asyncio.Event] = {}
        self._delays: dict[Pair, float] = {}
        self._wires: dict[asyncio.Task[None], None] = {}
        self._servers: list[asyncio.Server] = []

    async def serve_commands(self) -> None:
        loop = asyncio.get_running_loop()
        commands = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
        while line := await commands.readline():
            command: dict[str, Any] = json.loads(line)
            answer = await getattr(self, f"do_{command.pop('do')}")(**command)
            print(json.dumps(answer), flush=True)

    # Commands

    async def do_add(self, node: int, port: int) -> int:
        self._ports[node] = port
        server = await asyncio.start_server(
            lambda reader, writer: self._accepted(node, reader, writer), HOST, 0
        )
        self._servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    async def do_cut(self, pairs: list[list[int]]) -> None:
        for source, target in pairs:
            self._gate((source, target)).clear()

    async def do_slow(self, pairs: list[list[int]], seconds: float) -> None:
        for source, target in pairs:
            self._delays[source, target] = seconds

    async def do_mend(self, reset: bool) -> None:
        self._delays.clear()
        if reset and not all(gate.is_set() for gate in self._open.values()):
            for wire in tuple(self._wires):
                wire.cancel()
        for gate in self._open.values():
            gate.set()

    # Connections

    def _gate(self, pair: Pair) -> asyncio.Event:
        gate = self._open.get(pair)
        if gate is None:
            gate = self._open[pair] = asyncio.Event()
            gate.set()
        return gate

    def _accepted(self, target: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._carry(target, reader, writer))
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
                asyncio.get_running_loop().create_task(self._pump((source, target), reader, far)),
                asyncio.get_running_loop().create_task(self._pump((target, source), back, writer)),
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


if __name__ == "__main__":
    asyncio.run(LinkProxy().serve_commands())
