"""Connections under bad input, silence and pressure: real sockets, both loops, a stand-in dispatcher."""

import asyncio
import concurrent.futures
import contextlib
import os
import random
import resource
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tidelog.base.disk import PosixDisk
from tidelog.base.errors import ProtocolError
from tidelog.base.listener import Listener
from tidelog.base.ports import FileSlice
from tidelog.broker.peer import Peer
from tidelog.broker.reply import Reply
from tidelog.server.limits import MIB, Limits
from tidelog.server.open_files import raise_open_file_limit
from tidelog.server.server import Server

LOOPS = ["asyncio", "uvloop"]
DEADLINE = 10.0


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


class EchoDispatcher:
    """The first byte of a request says what to do with it; the rest comes back."""

    def __init__(self) -> None:
        self.slices: list[FileSlice] = []
        self.seen = 0
        self.waiting: list[asyncio.Future[Reply | None]] = []

    def dispatch(self, request: memoryview, peer: Peer) -> Reply | asyncio.Future[Reply | None] | None:
        self.seen += 1
        match request[:1].tobytes():
            case b"e":  # echo now
                return self.echo(request)
            case b"l":  # echo later, in a random order
                loop = asyncio.get_running_loop()
                later: asyncio.Future[Reply | None] = loop.create_future()
                loop.call_later(
                    random.random() / 50, lambda: later.done() or later.set_result(self.echo(request))
                )
                return later
            case b"w":  # wait until told
                waiting: asyncio.Future[Reply | None] = asyncio.get_running_loop().create_future()
                self.waiting.append(waiting)
                return waiting
            case b"n":  # no answer is owed
                return None
            case b"s":  # file slices
                parts = [*self.slices]
                size = sum(map(len, parts))
                return Reply([struct.pack(">i", size), *parts])
            case b"b":  # a big answer
                return Reply([struct.pack(">i", MIB), bytes(MIB)])
            case b"t":
                return Reply([struct.pack(">i", 1), b"t"], throttle_ms=200)
            case b"c":
                return Reply([struct.pack(">i", 1), b"c"], close=True)
            case b"C":
                return Reply([struct.pack(">i", 8 * MIB), bytes(8 * MIB)], close=True)
            case b"x":
                raise ValueError("a bug in a handler")
            case _:
                raise ProtocolError("an unknown request")

    @staticmethod
    def echo(request: memoryview) -> Reply:
        return Reply([struct.pack(">i", len(request)), request])


class Running:
    """A server on its own thread and loop."""

    def __init__(self, loop_name: str, limits: Limits) -> None:
        self.dispatcher = EchoDispatcher()
        self.server = Server(self.dispatcher, limits)
        if loop_name == "uvloop":
            uvloop = pytest.importorskip("uvloop")
            self.loop = uvloop.new_event_loop()
        else:
            self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve)
        self._started = threading.Event()
        self._thread.start()
        self._started.wait(DEADLINE)
        self.port = self.server.addresses[0].port

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)

        def start() -> None:
            self.server.start([Listener("PLAINTEXT", "127.0.0.1", 0)])
            self._started.set()

        async def main() -> None:
            start()
            self._stop = asyncio.Event()
            await self._stop.wait()
            self.server.close()
            await asyncio.sleep(0)

        self.loop.run_until_complete(main())
        self.loop.close()

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE)

    def drain(self, seconds: float) -> "concurrent.futures.Future[int]":
        return asyncio.run_coroutine_threadsafe(self.server.drain(seconds), self.loop)

    def ask(self, request: Callable[[], object]) -> object:
        """Run something on the server's loop and wait for what it returns."""

        async def call() -> object:
            return request()

        return asyncio.run_coroutine_threadsafe(call(), self.loop).result(DEADLINE)


def receive(sock: socket.socket, count: int) -> bytes:
    parts = []
    while count:
        data = sock.recv(min(count, MIB))
        if not data:
            raise EOFError
        parts.append(data)
        count -= len(data)
    return b"".join(parts)


def receive_frame(sock: socket.socket) -> bytes:
    return receive(sock, struct.unpack(">i", receive(sock, 4))[0])


def is_closed(sock: socket.socket) -> bool:
    try:
        return sock.recv(1) == b""
    except ConnectionResetError:
        return True


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.005)


def still_answers(running: Running) -> None:
    with running.connect() as sock:
        sock.sendall(frame(b"e, are you there?"))
        assert receive_frame(sock) == b"e, are you there?"


@pytest.fixture(params=LOOPS)
def start(request: pytest.FixtureRequest) -> Iterator[Callable[..., Running]]:
    running: list[Running] = []

    def begin(**limits: float) -> Running:
        running.append(Running(request.param, Limits(**limits)))  # type: ignore[arg-type]
        return running[-1]

    yield begin
    for each in running:
        each.stop()


@pytest.mark.parametrize(
    ("hello", "said"),
    [
        (struct.pack(">i", -1), "announced a frame of -1 bytes"),
        (struct.pack(">i", 0), "announced a frame of 0 bytes"),
        (struct.pack(">i", 104857601), "announced a frame of 104857601 bytes"),
        (struct.pack(">i", 2**31 - 1), "announced a frame of 2147483647 bytes"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "spoke HTTP"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "TLS hello"),
        (frame(b"?"), "broke the protocol: an unknown request"),
    ],
)
def test_what_is_not_a_request_closes_the_connection_and_names_the_peer(
    start: Callable[..., Running], caplog: pytest.LogCaptureFixture, hello: bytes, said: str
) -> None:
    running = start()
    with running.connect() as sock:
        host, port = sock.getsockname()
        sock.sendall(hello)
        assert is_closed(sock)
    assert [said in line and f"{host}:{port} " in line for line in caplog.messages] == [True]
    still_answers(running)


def test_answers_before_garbage_are_delivered(start: Callable[..., Running]) -> None:
    running = start()
    with running.connect() as sock:
        sock.sendall(frame(b"e1") + frame(b"e2") + struct.pack(">i", -5))
        assert receive_frame(sock) == b"e1"
        assert receive_frame(sock) == b"e2"
        assert is_closed(sock)


def test_log_lines_of_strangers_are_bounded(
    start: Callable[..., Running], caplog: pytest.LogCaptureFixture
) -> None:
    running = start()
    begin = time.monotonic()
    for _ in range(200):
        with running.connect() as sock:
            sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert is_closed(sock)
    seconds = time.monotonic() - begin
    assert 1 <= len(caplog.messages) <= 11 * (seconds + 1)


def test_a_bug_in_a_handler_costs_one_connection(
    start: Callable[..., Running], caplog: pytest.LogCaptureFixture
) -> None:
    running = start()
    with running.connect() as sock:
        sock.sendall(frame(b"x"))
        assert is_closed(sock)
    assert "a request failed inside the broker" in caplog.text
    assert "a bug in a handler" in caplog.text
    still_answers(running)


def test_half_a_frame_then_silence_is_closed(
    start: Callable[..., Running], caplog: pytest.LogCaptureFixture
) -> None:
    running = start(half_frame_seconds=0.2)
    with running.connect() as header_only, running.connect() as half:
        header_only.sendall(b"\0\0")
        half.sendall(struct.pack(">i", 1000) + b"e half")
        assert is_closed(header_only)
        assert is_closed(half)
    assert caplog.text.count("sent half a frame, then nothing") == 2
    still_answers(running)


def test_idle_connections_are_closed_but_waiting_ones_are_not(start: Callable[..., Running]) -> None:
    running = start(idle_seconds=0.2)
    with running.connect() as idle, running.connect() as waiting:
        waiting.sendall(frame(b"w"))
        assert is_closed(idle)
        wait_for(lambda: len(running.dispatcher.waiting) == 1)
        time.sleep(0.3)
        answer = Reply([frame(b"at last")])
        running.ask(lambda: running.dispatcher.waiting[0].set_result(answer))
        assert receive_frame(waiting) == b"at last"


def test_a_byte_at_a_time(start: Callable[..., Running]) -> None:
    running = start()
    with running.connect() as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in frame(b"e slow") + frame(b"l slower"):
            sock.sendall(bytes([byte]))
            time.sleep(0.001)
        assert receive_frame(sock) == b"e slow"
        assert receive_frame(sock) == b"l slower"


def test_ten_thousand_pipelined_requests_are_answered_in_order(start: Callable[..., Running]) -> None:
    running = start()
    kinds = random.Random(1).choices([b"e", b"l", b"n"], [90, 1, 9], k=10_000)
    requests = [kind + b"%d" % number for number, kind in enumerate(kinds)]
    expected = b"".join(frame(request) for request in requests if request[:1] != b"n")
    with running.connect() as sock:
        sender = threading.Thread(target=sock.sendall, args=(b"".join(map(frame, requests)),))
        sender.start()
        assert receive(sock, len(expected)) == expected
        sender.join()


def test_frames_of_all_sizes_arrive_unchanged(start: Callable[..., Running]) -> None:
    running = start()
    rng = random.Random(2)
    sizes = [1, 5, 1000, 65_535, 65_536, 70_000, 262_140, 262_144, 300_000, MIB, 3 * MIB + 1, 9 * MIB, 17]
    bodies = [b"e" + rng.randbytes(size - 1) for size in sizes]
    expected = b"".join(map(frame, bodies))
    with running.connect() as sock:
        sender = threading.Thread(target=sock.sendall, args=(expected,))
        sender.start()
        assert receive(sock, len(expected)) == expected
        sender.join()
    wait_for(lambda: running.server.connection_count == 0)
    assert running.server.held_bytes == 0


def test_one_busy_connection_does_not_starve_another(start: Callable[..., Running]) -> None:
    running = start()
    with running.connect() as busy, running.connect() as other:
        busy.sendall(frame(b"n" * 10) * 20_000)
        other.sendall(frame(b"e"))
        assert receive_frame(other) == b"e"
        wait_for(lambda: running.dispatcher.seen == 20_001)


def test_a_throttled_answer_mutes_the_next_request(start: Callable[..., Running]) -> None:
    running = start()
    with running.connect() as sock:
        begin = time.monotonic()
        sock.sendall(frame(b"t") + frame(b"e"))
        assert receive_frame(sock) == b"t"
        assert receive_frame(sock) == b"e"
        assert time.monotonic() - begin >= 0.19


def test_an_answer_may_end_the_connection(start: Callable[..., Running]) -> None:
    running = start()
    with running.connect() as sock:
        sock.sendall(frame(b"c") + frame(b"e" * 1000))
        assert receive_frame(sock) == b"c"
        assert is_closed(sock)


def test_a_last_answer_arrives_whole_though_the_peer_goes_on_sending(start: Callable[..., Running]) -> None:
    running = start()
    with running.connect() as sock:
        sock.sendall(frame(b"C"))
        send_what_fits(sock, frame(b"e" * 1000) * 4000)
        sock.settimeout(DEADLINE)
        assert len(receive_frame(sock)) == 8 * MIB
        assert is_closed(sock)


def test_too_many_requests_under_way_wait(start: Callable[..., Running]) -> None:
    running = start(in_flight_max=10)
    with running.connect() as sock:
        sock.sendall(frame(b"w") * 30)
        wait_for(lambda: len(running.dispatcher.waiting) == 10)
        time.sleep(0.05)
        waiting = running.dispatcher.waiting
        assert len(waiting) == 10
        for number in range(30):
            wait_for(lambda number=number: len(waiting) > number)  # type: ignore[misc]
            answer = Reply([frame(b"%d" % number)])
            running.ask(lambda number=number, answer=answer: waiting[number].set_result(answer))  # type: ignore[misc]
            assert receive_frame(sock) == b"%d" % number


def test_requests_of_a_peer_that_left_are_cancelled(start: Callable[..., Running]) -> None:
    running = start()
    with running.connect() as sock:
        sock.sendall(frame(b"w"))
        wait_for(lambda: len(running.dispatcher.waiting) == 1)
    wait_for(running.dispatcher.waiting[0].cancelled)
    wait_for(lambda: running.server.held_bytes == 0)


def test_a_request_that_the_broker_cancels_ends_the_connection_quietly(
    start: Callable[..., Running], caplog: pytest.LogCaptureFixture
) -> None:
    running = start()
    with running.connect() as sock:
        sock.sendall(frame(b"w"))
        wait_for(lambda: len(running.dispatcher.waiting) == 1)
        running.ask(running.dispatcher.waiting[0].cancel)
        assert is_closed(sock)
    assert caplog.messages == []


def test_connection_limits(start: Callable[..., Running], caplog: pytest.LogCaptureFixture) -> None:
    running = start(connections_per_ip_max=2)
    with running.connect() as first, running.connect(), running.connect() as third:
        assert is_closed(third)
        assert "max.connections.per.ip=2 reached" in caplog.text
        first.close()
        wait_for(lambda: running.server.connection_count == 1)
        still_answers(running)
    total = start(connections_max=1)
    with total.connect(), total.connect() as second:
        assert is_closed(second)
        assert "max.connections=1 reached" in caplog.text
        total.ask(lambda: total.server.change_limits(Limits(connections_max=2)))
        still_answers(total)


RESET = struct.pack("ii", 1, 0)


def resident_bytes() -> int:
    return int(psutil.Process().memory_info().rss)


@pytest.fixture
def sockets() -> Iterator[contextlib.ExitStack]:
    with contextlib.ExitStack() as stack:
        yield stack


def connect_many(running: Running, count: int, sockets: contextlib.ExitStack) -> list[socket.socket]:
    many = [sockets.enter_context(running.connect()) for _ in range(count)]
    wait_for(lambda: running.server.connection_count >= count)
    return many


def send_what_fits(sock: socket.socket, data: bytes) -> int:
    """Send until the server stops reading; answers how much it took."""
    sock.settimeout(0.02)
    sent = 0
    with contextlib.suppress(TimeoutError):
        while sent < len(data):
            sent += sock.send(memoryview(data)[sent : sent + 128 * 1024])
    return sent


def test_announced_frames_cost_nothing(start: Callable[..., Running], sockets: contextlib.ExitStack) -> None:
    running = start()
    many = connect_many(running, 300, sockets)
    before = resident_bytes()
    for sock in many:
        sock.sendall(struct.pack(">i", 100 * MIB))
    wait_for(lambda: running.server.counters.bytes_in == 4 * 300)
    assert resident_bytes() - before < 4 * MIB
    assert running.server.held_bytes == 0
    still_answers(running)


def test_half_received_large_frames_stay_within_the_cap(
    start: Callable[..., Running], sockets: contextlib.ExitStack
) -> None:
    running = start(held_bytes_max=64 * MIB, express_after_seconds=100.0)
    many = connect_many(running, 300, sockets)
    before = resident_bytes()
    part = struct.pack(">i", 100 * MIB) + bytes(MIB)
    for sock in many:
        send_what_fits(sock, part)
    wait_for(lambda: running.server.counters.memory_stalls > 100)
    assert running.server.held_bytes <= 64 * MIB
    assert resident_bytes() - before < 80 * MIB
    still_answers(running)
    with running.connect() as other:
        body = b"e" + bytes(100_000)
        other.sendall(frame(body))
        assert receive_frame(other) == body


def test_the_express_lane_moves_when_half_frames_hold_all_memory(
    start: Callable[..., Running], sockets: contextlib.ExitStack, caplog: pytest.LogCaptureFixture
) -> None:
    running = start(held_bytes_max=8 * MIB, express_after_seconds=0.04, express_seconds=0.1)
    for sock in connect_many(running, 12, sockets):
        send_what_fits(sock, struct.pack(">i", 100 * MIB) + bytes(MIB))
    wait_for(lambda: running.server.counters.memory_stalls > 0)
    with running.connect() as honest:
        body = b"e" + random.Random(4).randbytes(3 * MIB)
        sender = threading.Thread(target=honest.sendall, args=(frame(body),))
        sender.start()
        assert receive_frame(honest) == body
        sender.join()
    assert "did not finish a frame while memory was short" in caplog.text


def test_two_thousand_silent_connections(
    start: Callable[..., Running], sockets: contextlib.ExitStack
) -> None:
    if raise_open_file_limit() < 5000:
        pytest.skip("needs 5,000 descriptors")
    running = start()
    before = resident_bytes()
    connect_many(running, 2000, sockets)
    # Both ends live in this process.
    assert resident_bytes() - before < 2000 * 10 * 1024
    still_answers(running)


@pytest.mark.parametrize("request_body", [b"b", b"s", b"e" * 50_000])
def test_a_peer_that_never_reads_its_answers(
    start: Callable[..., Running], caplog: pytest.LogCaptureFixture, tmp_path: Path, request_body: bytes
) -> None:
    running = start(unread_answer_seconds=0.3)
    running.dispatcher.slices = make_slices(tmp_path, bytes(8 * MIB), [(0, 8 * MIB)])
    flood = frame(request_body) * (24 * MIB // len(frame(request_body)))
    before = resident_bytes()
    with running.connect() as sock:
        send_what_fits(sock, flood)
        assert running.server.held_bytes < 3 * MIB
        assert resident_bytes() - before < 16 * MIB
        still_answers(running)
        wait_for(lambda: running.server.connection_count == 0)
    assert "took no byte of its answers" in caplog.text
    assert running.server.held_bytes == 0


def make_slices(folder: Path, data: bytes, ranges: list[tuple[int, int]]) -> list[FileSlice]:
    path = folder / "slices"
    path.write_bytes(data)
    file = PosixDisk().open(str(path))
    return [FileSlice(file, position, length) for position, length in ranges]


def test_file_slices_arrive_byte_by_byte(start: Callable[..., Running], tmp_path: Path) -> None:
    running = start()
    rng = random.Random(3)
    data = rng.randbytes(6 * MIB)
    lengths = [0, 1, 100, 4096, 65_535, 65_536, 65_537, 200_000, MIB, 5 * MIB, 0, 3, 70_000]
    lengths += [rng.randrange(3000) for _ in range(1200)]
    ranges = [(rng.randrange(len(data) - length), length) for length in lengths]
    running.dispatcher.slices = make_slices(tmp_path, data, ranges)
    expected = b"".join(data[position : position + length] for position, length in ranges)
    with running.connect() as sock:
        sock.sendall(frame(b"e1") + frame(b"s") + frame(b"l2") + frame(b"s"))
        time.sleep(0.05)  # let the socket's buffers fill up
        assert receive_frame(sock) == b"e1"
        assert receive_frame(sock) == expected
        assert receive_frame(sock) == b"l2"
        assert receive_frame(sock) == expected


@pytest.mark.parametrize("length", [1000, MIB])
def test_a_file_that_is_too_short_ends_the_connection(
    start: Callable[..., Running], caplog: pytest.LogCaptureFixture, tmp_path: Path, length: int
) -> None:
    running = start()
    running.dispatcher.slices = make_slices(tmp_path, bytes(500), [(0, length)])
    with running.connect() as sock:
        sock.sendall(frame(b"s"))
        with pytest.raises((EOFError, ConnectionResetError)):
            receive_frame(sock)
    assert "which was promised to a reader" in caplog.text
    still_answers(running)


def test_a_reset_in_the_middle_of_a_slice_is_quiet(
    start: Callable[..., Running], caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    running = start()
    running.dispatcher.slices = make_slices(tmp_path, bytes(16 * MIB), [(0, 16 * MIB)])
    for _ in range(20):
        with running.connect() as sock:
            sock.sendall(frame(b"s"))
            receive(sock, 100_000)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    wait_for(lambda: running.server.connection_count == 0)
    assert caplog.messages == []
    still_answers(running)


def test_drain_answers_what_is_under_way(start: Callable[..., Running]) -> None:
    running = start()
    with running.connect() as idle, running.connect() as waiting:
        waiting.sendall(frame(b"w"))
        wait_for(lambda: len(running.dispatcher.waiting) == 1)
        drained = running.drain(DEADLINE)
        assert is_closed(idle)
        with pytest.raises(ConnectionRefusedError):
            running.connect()
        answer = Reply([frame(b"done")])
        running.ask(lambda: running.dispatcher.waiting[0].set_result(answer))
        assert receive_frame(waiting) == b"done"
        assert is_closed(waiting)
    assert drained.result(DEADLINE) == 0


def test_drain_cuts_off_what_does_not_end(start: Callable[..., Running]) -> None:
    running = start()
    with running.connect() as stuck:
        stuck.sendall(frame(b"w"))
        wait_for(lambda: len(running.dispatcher.waiting) == 1)
        assert running.drain(0.1).result(DEADLINE) == 1
        assert is_closed(stuck)


def test_running_out_of_descriptors_pauses_accepting(
    start: Callable[..., Running], caplog: pytest.LogCaptureFixture
) -> None:
    running = start()
    with running.connect() as old, socket.socket() as new:
        wait_for(lambda: running.server.connection_count == 1)
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        lowest_free = os.dup(new.fileno())
        os.close(lowest_free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, limits[1]))
        try:
            new.connect(("127.0.0.1", running.port))
            new.sendall(frame(b"e new"))
            wait_for(lambda: "cannot accept on PLAINTEXT://127.0.0.1" in caplog.text)
            old.sendall(frame(b"e old"))
            assert receive_frame(old) == b"e old"
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        new.settimeout(DEADLINE)
        assert receive_frame(new) == b"e new"
