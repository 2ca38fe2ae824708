"""Addresses that cannot be listened on say why and what to try; the others serve."""

import asyncio
import socket
import struct
from collections.abc import Callable

import pytest

from tidelog.base.listener import Listener, parse_listener
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.reply import Reply
from tidelog.server.connection.limits import ConnectionLimits
from tidelog.server.listener import ListenError
from tidelog.server.server import Server


class NameListener:
    """Answers each request with the name of the listener and the host the client came from."""

    def dispatch(self, frame: memoryview, connection: ClientConnection) -> Reply:
        said = f"{connection.listener} {connection.host}".encode()
        return Reply([struct.pack(">i", len(said)), said])

    def accepted(self, connection: ClientConnection) -> None:
        """No client needs to authenticate."""

    def certificate_refused(self, connection: ClientConnection, reason: str) -> None:
        """Nothing is recorded."""

    def overlap_group(self, frame: memoryview) -> int:
        return 1


async def ask(host: str, port: int) -> str:
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(struct.pack(">i", 8) + bytes(8))
    answer = await reader.readexactly(struct.unpack(">i", await reader.readexactly(4))[0])
    writer.close()
    return answer.decode()


def serve(
    addresses: list[str], check: Callable[[Server], object], limits: ConnectionLimits | None = None
) -> None:
    async def main() -> None:
        server = Server(NameListener(), limits)
        server.start([parse_listener(address) for address in addresses])
        try:
            checked = check(server)
            if asyncio.iscoroutine(checked):
                await checked
        finally:
            server.close()

    asyncio.run(main())


def test_each_listener_has_its_name_and_a_free_port() -> None:
    async def check(server: Server) -> None:
        first, second = server.addresses
        assert first.port != second.port != 0
        assert await ask("127.0.0.1", first.port) == "PLAINTEXT 127.0.0.1"
        assert await ask("127.0.0.1", second.port) == "INSIDE 127.0.0.1"

    serve(["PLAINTEXT://127.0.0.1:0", "INSIDE://localhost:0"], check)


@pytest.mark.parametrize("address", ["PLAINTEXT://:0", "PLAINTEXT://0.0.0.0:0"])
def test_every_interface(address: str) -> None:
    async def check(server: Server) -> None:
        assert await ask("127.0.0.1", server.addresses[0].port) == "PLAINTEXT 127.0.0.1"

    serve([address], check)


@pytest.mark.skipif(not socket.has_ipv6, reason="needs IPv6")
def test_ipv6() -> None:
    async def check(server: Server) -> None:
        assert await ask("::1", server.addresses[0].port) == "PLAINTEXT ::1"

    try:
        serve(["PLAINTEXT://[::1]:0"], check)
    except ListenError:
        pytest.skip("this machine has no IPv6 address")


def test_socket_buffers_are_set_where_asked() -> None:
    async def check(server: Server) -> None:
        assert await ask("127.0.0.1", server.addresses[0].port) == "PLAINTEXT 127.0.0.1"

    limits = ConnectionLimits(send_buffer_bytes=65_536, receive_buffer_bytes=65_536)
    serve(["PLAINTEXT://127.0.0.1:0"], check, limits)


def test_a_port_in_use_says_how_to_find_out_who_has_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ListenError, match=rf"port {port} is in use.*ss -ltnp 'sport = :{port}'"):
            serve([f"PLAINTEXT://127.0.0.1:{port}"], lambda server: None)


def test_when_one_listener_fails_none_is_left_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        free = probe.getsockname()[1]
    with pytest.raises(ListenError, match=r"no address 192\.0\.2\.1"):
        serve([f"PLAINTEXT://127.0.0.1:{free}", "OTHER://192.0.2.1:0"], lambda server: None)
    socket.create_server(("127.0.0.1", free)).close()


def test_listeners_that_come_later_refuse_until_they_are_opened() -> None:
    async def main() -> None:
        server = Server(NameListener())
        server.start(
            [Listener("INSIDE", "127.0.0.1", 0), Listener("OUTSIDE", "127.0.0.1", 0)], first="INSIDE"
        )
        inside, outside = server.addresses
        assert await ask("127.0.0.1", inside.port) == "INSIDE 127.0.0.1"
        with pytest.raises(ConnectionRefusedError):
            await ask("127.0.0.1", outside.port)
        server.open()
        assert await ask("127.0.0.1", outside.port) == "OUTSIDE 127.0.0.1"
        assert await ask("127.0.0.1", inside.port) == "INSIDE 127.0.0.1"
        server.close()

    asyncio.run(main())


def test_a_port_that_was_taken_before_its_listener_is_opened() -> None:
    async def main() -> None:
        server = Server(NameListener())
        server.start(
            [Listener("INSIDE", "127.0.0.1", 0), Listener("OUTSIDE", "127.0.0.1", 0)], first="INSIDE"
        )
        port = server.addresses[1].port
        try:
            with socket.create_server(("127.0.0.1", port)), pytest.raises(ListenError, match="is in use"):
                server.open()
        finally:
            server.close()

    asyncio.run(main())


def test_a_host_that_cannot_be_one() -> None:
    async def main() -> None:
        Server(NameListener()).start([Listener("PLAINTEXT", "a..b", 0)])

    with pytest.raises(ListenError, match=r"cannot listen on PLAINTEXT://a\.\.b:0"):
        asyncio.run(main())
