"""What connections may hold: frames that are announced, half received, or answered to nobody who reads."""

import contextlib
import gc
import random
import socket
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.faults.echo_server import (
    Running,
    frame,
    make_slices,
    receive_frame,
    send_what_fits,
    still_answers,
    wait_for,
)
from tidelog.server.connection.connection import ServerConnection
from tidelog.server.connection.limits import MIB
from tidelog.server.open_files import raise_open_file_limit


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


def test_announced_frames_cost_nothing(start: Callable[..., Running], sockets: contextlib.ExitStack) -> None:
    running = start()
    many = connect_many(running, 300, sockets)
    before = resident_bytes()
    for sock in many:
        sock.sendall(struct.pack(">i", 100 * MIB))
    wait_for(lambda: running.server.counters.bytes_in == 4 * 300)
    assert resident_bytes() - before < 4 * MIB
    assert running.held_bytes() == 0
    still_answers(running)


def test_half_received_large_frames_stay_within_the_cap(
    start: Callable[..., Running], sockets: contextlib.ExitStack
) -> None:
    running = start(held_bytes_max=64 * MIB, memory_patience_seconds=100.0)
    many = connect_many(running, 300, sockets)
    before = resident_bytes()
    part = struct.pack(">i", 40 * MIB) + bytes(MIB)
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


def test_half_frames_that_hold_all_memory_make_way(
    start: Callable[..., Running], sockets: contextlib.ExitStack, caplog: pytest.LogCaptureFixture
) -> None:
    running = start(held_bytes_max=8 * MIB, memory_patience_seconds=0.04, stall_seconds=0.1)
    for sock in connect_many(running, 40, sockets):
        send_what_fits(sock, struct.pack(">i", 3 * MIB) + bytes(MIB))
    wait_for(lambda: running.server.counters.memory_stalls > 0)
    body = b"e" + random.Random(4).randbytes(3 * MIB)

    def is_answered() -> bool:
        """A busy machine may pause an honest client for longer than the limit, too; then it comes again."""
        with running.connect() as honest:
            try:
                honest.sendall(frame(body))
                return receive_frame(honest) == body
            except (EOFError, OSError):
                return False

    assert any(is_answered() for _ in range(5))
    assert "did not finish a frame while memory was short" in caplog.text


def test_one_that_waits_for_memory_is_not_forgotten(
    start: Callable[..., Running], sockets: contextlib.ExitStack, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither that it has sent half a frame, nor that its client has gone; and all it held comes back."""
    running = start(held_bytes_max=8 * MIB, memory_patience_seconds=100, half_frame_seconds=3)
    first, *others = connect_many(running, 10, sockets)
    send_what_fits(first, struct.pack(">i", 7 * MIB) + bytes(MIB))
    for sock in others:
        send_what_fits(sock, struct.pack(">i", 6 * MIB) + bytes(100_000))
    wait_for(lambda: running.server.counters.memory_stalls == 9)
    others[0].close()
    wait_for(lambda: running.server.connection_count == 9)
    assert not caplog.text
    wait_for(lambda: running.server.connection_count == 0)
    assert "memory was short for" in caplog.text
    assert running.held_bytes() == 0


def test_a_connection_that_ended_leaves_nothing_for_the_garbage_collector(
    start: Callable[..., Running],
) -> None:
    def left() -> int:
        """Of this server: others in this process have connections of their own."""
        found = (each for each in gc.get_objects() if isinstance(each, ServerConnection))
        return sum(each._local_port == running.port for each in found)

    running = start()
    gc.collect()
    gc.disable()
    try:
        with running.connect() as sock:
            sock.sendall(frame(b"l") + frame(b"e"))
            assert receive_frame(sock) + receive_frame(sock) == b"le"
            assert left() == 1
        wait_for(lambda: left() == 0)
    finally:
        gc.enable()


def test_two_thousand_silent_connections(
    start: Callable[..., Running], sockets: contextlib.ExitStack
) -> None:
    if raise_open_file_limit() < 5000:
        pytest.skip("needs 5,000 descriptors")
    running = start()
    before = resident_bytes()
    connect_many(running, 2000, sockets)
    # Both ends live in this process; of a TLS session OpenSSL holds some 17 KiB at each.
    each = 48 * 1024 if running.is_tls else 10 * 1024
    assert resident_bytes() - before < 2000 * each
    still_answers(running)


@pytest.mark.parametrize("request_body", [b"b", b"s", b"e" * 50_000])
def test_a_client_that_never_reads_its_answers(
    start: Callable[..., Running], caplog: pytest.LogCaptureFixture, tmp_path: Path, request_body: bytes
) -> None:
    running = start(unread_answer_seconds=0.8)
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
    assert running.held_bytes() == 0


def test_the_buffer_of_a_large_frame_is_used_again(
    start: Callable[..., Running], sockets: contextlib.ExitStack
) -> None:
    """A fresh one costs as much CPU as receiving into it: the kernel zeroes and maps each page."""
    running = start()
    [sock] = connect_many(running, 1, sockets)
    taken: list[bytearray] = []
    pool = running.server._state.pool
    take = pool.take

    def watched(size: int) -> bytearray:
        buffer = take(size)
        taken.append(buffer)
        return buffer

    pool.take = watched  # type: ignore[method-assign]
    pool.tick = lambda: None  # type: ignore[method-assign]  # else a tick without large frames lets buffers go
    for _ in range(3):
        sock.sendall(frame(b"n" + bytes(MIB)))
        sock.sendall(frame(b"e"))
        assert receive_frame(sock) == b"e"
    assert len(taken) >= 3
    assert len(set(map(id, taken))) == 1
