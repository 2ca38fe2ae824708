"""Connections to other brokers that misbehave: nobody hangs, nothing is kept, the cause is said."""

import asyncio
import gc
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from tidelog.server.clock import SystemRandom
from tidelog.server.peer_connections.peer_network import PeerConnection, PeerNetwork

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
REQUEST = [struct.pack(">i", 5), b"hello"]


class Peer:
    def __init__(self) -> None:
        self.connections = 0
        self.received = bytearray()


@asynccontextmanager
async def peer(serve: Serve, **limits: float) -> AsyncIterator[tuple[PeerNetwork, PeerConnection, Peer]]:
    seen = Peer()
    serving: set[asyncio.Task[None]] = set()

    async def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.connections += 1
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        try:
            await serve(reader, writer)
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(on_connection, "127.0.0.1", 0)
    network = PeerNetwork(SystemRandom(), **limits)  # type: ignore[arg-type]
    try:
        yield network, network.connect("127.0.0.1", server.sockets[0].getsockname()[1]), seen
    finally:
        await network.close()
        server.close()
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)


def in_time(work: Awaitable[None]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(work, 20)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert not [task for task in others if task.get_name().startswith("connect")]

    with asyncio.Runner(debug=False) as runner:
        runner.run(bounded())


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    return await reader.readexactly(size)


def framed(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(framed((await read_frame(reader)).upper()))


def test_answers_come_in_order_whatever_their_size() -> None:
    async def in_pieces(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            data = framed(await read_frame(reader))
            for start in range(0, len(data), 70_001):
                writer.write(data[start : start + 70_001])
                await writer.drain()

    async def work() -> None:
        async with peer(in_pieces) as (_, connection, seen):
            bodies = [bytes([number]) * size for number, size in enumerate((1, 5_000_000, 3, 100_000, 40))]
            answers = await asyncio.gather(*(connection.call([framed(body)]) for body in bodies))
            assert [bytes(answer) == body for answer, body in zip(answers, bodies, strict=True)] == [True] * 5
            assert seen.connections == 1

    in_time(work())


def test_the_buffer_of_a_large_answer_is_used_again_once_nobody_looks_at_it() -> None:
    async def work() -> None:
        async with peer(echo) as (network, connection, _):
            answer = await connection.call([framed(b"x" * 1_000_000)])
            kept = answer[10:]
            del answer
            await connection.call(REQUEST)
            assert network.pool.kept_bytes == 0
            assert bytes(kept[:3]) == b"XXX"
            del kept
            await connection.call([framed(b"x" * 1_000_000)])
            await connection.call(REQUEST)
            assert network.pool.kept_bytes >= 1_000_000

    in_time(work())


@pytest.mark.parametrize(
    ("bytes_sent", "said"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "announced a frame of 1213486160 bytes"),
        (struct.pack(">i", 2_000_000), "announced a frame of 2000000 bytes"),
        (struct.pack(">i", -1), "announced a frame of -1 bytes"),
        (struct.pack(">i", 0), "announced a frame of 0 bytes"),
        (b"\x16\x03\x01\x02\x00", "TLS"),
        (framed(b"one") + framed(b"two nobody asked for"), None),
    ],
)
def test_garbage_ends_the_connection_and_the_next_call_makes_a_new_one(
    bytes_sent: bytes, said: str | None
) -> None:
    async def garbage_first(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if seen.connections == 1:
            await read_frame(reader)
            writer.write(bytes_sent)
            await reader.read()
        await echo(reader, writer)

    async def work() -> None:
        nonlocal seen
        async with peer(garbage_first, answer_bytes_max=1_000_000) as (_, connection, seen):
            first = await asyncio.gather(connection.call(REQUEST), return_exceptions=True)
            if said is None:
                assert bytes(first[0]) == b"one"  # type: ignore[arg-type]
                await asyncio.sleep(0.05)
            else:
                assert isinstance(first[0], ConnectionError)
                assert said in str(first[0])
            assert bytes(await connection.call(REQUEST)) == b"HELLO"
            assert seen.connections == 2

    seen = Peer()
    in_time(work())


def test_half_an_answer_and_then_the_end() -> None:
    async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_frame(reader)
        writer.write(struct.pack(">i", 100_000) + b"x" * 50_000)
        await writer.drain()

    async def work() -> None:
        async with peer(half) as (_, connection, _seen):
            answers = await asyncio.gather(
                connection.call(REQUEST), connection.call(REQUEST), return_exceptions=True
            )
            assert [type(answer) for answer in answers] == [ConnectionError] * 2
            assert "ended the connection" in str(answers[0])

    in_time(work())


def test_a_peer_that_never_answers_is_left_when_the_caller_says_so() -> None:
    async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def work() -> None:
        async with peer(silence) as (network, connection, _):
            waiting = connection.call(REQUEST)
            await asyncio.sleep(0.05)
            connection.close()
            with pytest.raises(ConnectionError, match="was closed"):
                await waiting
            with pytest.raises(ConnectionError, match="closed"):
                await connection.call(REQUEST)
            connection.send(REQUEST)
            assert not network._connections

    in_time(work())


def test_whoever_gave_up_does_not_take_the_answer_of_the_next() -> None:
    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            frame = await read_frame(reader)
            await asyncio.sleep(0.05)
            writer.write(framed(frame))

    async def work() -> None:
        async with peer(slow) as (_, connection, _seen):
            first = connection.call([framed(b"first")])
            second = connection.call([framed(b"second")])
            await asyncio.sleep(0.01)
            first.cancel()
            assert bytes(await second) == b"second"

    in_time(work())


def test_a_broker_that_is_down_is_tried_less_and_less_often_and_never_waited_for() -> None:
    async def work() -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # and nobody listens
            network = PeerNetwork(SystemRandom())
            connection = network.connect("127.0.0.1", taken.getsockname()[1])
            tried = refused = 0
            loop = asyncio.get_running_loop()
            end = loop.time() + 0.5
            while loop.time() < end:
                began = loop.time()
                with pytest.raises(ConnectionError) as caught:
                    await connection.call(REQUEST)
                tried += "cannot be reached" in str(caught.value)
                refused += "a moment ago" in str(caught.value)
                connection.send(REQUEST)
                assert loop.time() - began < 0.2
                await asyncio.sleep(0.001)
            assert 2 <= tried <= 6
            assert refused > 20
            await network.close()

    in_time(work())


@pytest.mark.parametrize("host", ["no-such-host.invalid", "x" * 300, "a..b"])
def test_a_host_that_is_none(host: str) -> None:
    async def work() -> None:
        network = PeerNetwork(SystemRandom(), connect_seconds=5)
        with pytest.raises(ConnectionError, match=r"cannot be reached|did not accept a connection"):
            await network.connect(host, 9092).call(REQUEST)
        await network.close()

    in_time(work())


def test_sends_before_the_connection_is_there_are_kept_in_order() -> None:
    got: list[bytes] = []
    all_here = asyncio.Event()

    async def collect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            got.append(await read_frame(reader))
            writer.write(framed(b"nobody waits for this"))
            if len(got) == 20:
                all_here.set()

    async def work() -> None:
        async with peer(collect) as (_, connection, seen):
            for number in range(20):
                connection.send([framed(b"%d" % number)])
            await all_here.wait()
            assert got == [b"%d" % number for number in range(20)]
            assert seen.connections == 1

    in_time(work())


def test_closing_while_it_connects_leaves_nothing_behind() -> None:
    async def work() -> None:
        async with peer(echo) as (network, connection, _):
            waiting = connection.call(REQUEST)
            connection.close()
            with pytest.raises(ConnectionError):
                await waiting
            again = network.connect(connection._host, connection._port)
            waiting = again.call(REQUEST)
            await network.close()
            with pytest.raises(ConnectionError):
                await waiting

    in_time(work())
    gc.collect()


def test_a_peer_that_takes_nothing_is_not_given_more_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.server.peer_connections.peer_wire.UNSENT_BYTES_MAX", 1_000_000)

    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    async def work() -> None:
        async with peer(deaf) as (_, connection, _seen):
            calls = []
            for _ in range(200):
                calls.append(connection.call([framed(b"x" * 100_000)]))
                connection.send([framed(b"x" * 100_000)])
                await asyncio.sleep(0)
            refused = [call for call in calls if call.done()]
            assert refused
            with pytest.raises(ConnectionError, match="does not keep up"):
                await refused[-1]
            connection.close()
            await asyncio.gather(*calls, return_exceptions=True)

    in_time(work())
