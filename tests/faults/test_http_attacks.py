"""Clients that misbehave on an HTTP port: real sockets, both loops. Limits hold, and others are served."""

import random
import socket
import time
from collections.abc import Iterator

import pytest

from tests.faults.broker_lines import Lines
from tests.faults.http_thread import LARGE_BYTES, HttpThread, everything, running
from tidelog.server.http.limits import HttpLimits

LIMITS = HttpLimits(
    connections_max=8,
    connections_per_host_max=8,
    head_seconds=0.4,
    idle_seconds=1,
    answer_seconds=0.6,
    sweep_seconds=0.05,
)
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.fixture(params=["asyncio", "uvloop"])
def port(request: pytest.FixtureRequest, no_failures: None) -> Iterator[HttpThread]:
    with HttpThread(request.param, LIMITS) as running:
        yield running
        deadline = time.monotonic() + 20  # clients of a flood wait in the kernel before this one
        while not running.ask().startswith(b"HTTP/1.1 200"):
            assert time.monotonic() < deadline


def wait_until_empty(port: HttpThread) -> None:
    deadline = time.monotonic() + 20
    while port.server.connection_count:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize(
    "nonsense",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100),
        b"\x00\x00\x00\x10\x00\x12\x00\x03" + bytes(12),
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\n: no name\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: upgrade, close\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n",
    ],
)
def test_nonsense_is_refused(port: HttpThread, nonsense: bytes) -> None:
    answer = port.ask(nonsense)
    assert answer[:12] in (b"", b"HTTP/1.1 400", b"HTTP/1.1 200", b"HTTP/1.1 501")
    wait_until_empty(port)


def test_random_bytes_and_broken_requests(port: HttpThread, broker_log: Lines) -> None:
    rng = random.Random(7)
    for number in range(150):
        data = bytearray(GET * rng.randint(1, 3)) if number % 3 else bytearray(rng.randbytes(200))
        for _ in range(rng.randint(0, 5)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        with port.connect() as sock:
            sock.sendall(data[: rng.randint(1, len(data))])
            if number % 5 == 0:
                sock.shutdown(socket.SHUT_WR)
                everything(sock)
    wait_until_empty(port)


@pytest.mark.parametrize("hello", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: a\r\n"])
def test_a_request_that_never_ends_is_given_up(port: HttpThread, hello: bytes) -> None:
    with port.connect() as sock:
        sock.sendall(hello)
        assert everything(sock) == b""
    wait_until_empty(port)


def test_a_head_without_end_is_refused(port: HttpThread) -> None:
    answer = port.ask(b"GET / HTTP/1.1\r\n" + b"X-Header: value\r\n" * 100_000)
    assert answer[:12] in (b"", b"HTTP/1.1 400", b"HTTP/1.1 431")
    wait_until_empty(port)


def test_a_head_beyond_the_limit_is_refused_also_in_one_piece(port: HttpThread) -> None:
    answer = port.ask(b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: a\r\n" * 8_000 + b"\r\n")
    assert answer[:12] in (b"", b"HTTP/1.1 400", b"HTTP/1.1 431")
    wait_until_empty(port)


def test_a_request_with_two_lengths_is_refused_with_all_that_follows(port: HttpThread) -> None:
    head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = port.ask(head + b"0\r\n\r\n" + GET)
    assert answer.startswith(b"HTTP/1.1 400")
    assert answer.count(b"HTTP/1.1") == 1
    assert b"Content-Length or a Transfer-Encoding" in answer
    wait_until_empty(port)


def test_a_body_without_end_is_refused(port: HttpThread) -> None:
    head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n"
    port.ask(head + bytes(4 * 1024 * 1024))
    wait_until_empty(port)


def test_an_answer_that_is_not_read_is_given_up(port: HttpThread) -> None:
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect(("127.0.0.1", port.server.address.port))
        sock.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        wait_until_empty(port)


def test_an_answer_that_is_read_is_whole(port: HttpThread) -> None:
    answer = port.ask(b"GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    assert len(answer.partition(b"\r\n\r\n")[2]) == LARGE_BYTES


def test_several_requests_on_one_connection(port: HttpThread) -> None:
    with port.connect() as sock:
        sock.sendall(GET * 5)
        received = b""
        while received.count(b"Hello.\n") < 5:
            received += sock.recv(1 << 16)
        assert everything(sock) == b""  # idle for too long


def test_a_flood_of_connections_is_bounded(port: HttpThread, broker_log: Lines) -> None:
    flood = []
    for _ in range(100):
        sock = port.connect()
        flood.append(sock)
    assert port.server.connection_count <= LIMITS.connections_max
    for sock in flood:
        sock.close()


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_one_host_cannot_take_the_place_of_others(loop: str) -> None:
    limits = HttpLimits(connections_max=8, connections_per_host_max=4)
    with HttpThread(loop, limits) as port:
        flood = [port.connect("127.0.0.2") for _ in range(20)]
        assert port.ask().startswith(b"HTTP/1.1 200")
        assert port.server.connection_count <= limits.connections_per_host_max
        for sock in flood:
            sock.close()


def test_clients_that_leave_leave_no_work_behind(port: HttpThread) -> None:
    for _ in range(3 * LIMITS.connections_max):
        with port.connect() as sock:
            sock.sendall(GET.replace(b"/ ", b"/slow "))
            time.sleep(0.02)
    wait_until_empty(port)
    deadline = time.monotonic() + 5
    while running:
        assert time.monotonic() < deadline, f"{len(running)} requests of clients that have left"
        time.sleep(0.01)


def test_idle_connections_make_room(port: HttpThread) -> None:
    idle = [port.connect() for _ in range(LIMITS.connections_max)]
    for sock in idle:
        sock.sendall(GET)
        assert sock.recv(1 << 16).startswith(b"HTTP/1.1 200")
    assert port.ask().startswith(b"HTTP/1.1 200")
    for sock in idle:
        sock.close()


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_an_app_that_fails_answers_500(loop: str) -> None:
    with HttpThread(loop, LIMITS) as running:
        answer = running.ask(b"GET /broken HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 500")
        assert running.ask().startswith(b"HTTP/1.1 200")
