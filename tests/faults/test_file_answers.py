"""Answers that are slices of files: they arrive byte by byte, or the connection ends."""

import os
import random
import socket
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.echo_server import (
    Running,
    check_slices,
    frame,
    make_slices,
    receive,
    receive_frame,
    still_answers,
    wait_for,
)
from tidelog.server.connection.limits import MIB

RESET = struct.pack("ii", 1, 0)


def test_file_slices_arrive_byte_by_byte(start: Callable[..., Running], tmp_path: Path) -> None:
    running = start()
    rng = random.Random(3)
    data = rng.randbytes(6 * MIB)
    lengths = [0, 1, 100, 4096, 65_535, 65_536, 65_537, 200_000, MIB, 5 * MIB, 0, 3, 70_000]
    lengths += [rng.randrange(3000) for _ in range(1200)]
    ranges = [(rng.randrange(len(data) - length), length) for length in lengths]
    running.dispatcher.slices = make_slices(tmp_path, data, ranges)
    check_slices(running, b"".join(data[position : position + length] for position, length in ranges))


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="nobody can empty the page cache here")
def test_slices_that_are_not_in_memory_arrive_too_and_others_are_served_meanwhile(
    start: Callable[..., Running], tmp_path: Path
) -> None:
    running = start()
    data = random.Random(5).randbytes(48 * MIB)
    ranges = [(position, MIB) for position in range(0, len(data), MIB)]
    running.dispatcher.slices = make_slices(tmp_path, data, ranges)
    [path] = [path for path in tmp_path.iterdir() if path.is_file()]
    with running.connect() as sock, running.connect() as other:
        for _ in range(3):
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            sock.sendall(frame(b"s") + frame(b"e1"))
            other.sendall(frame(b"e2"))
            assert receive_frame(other) == b"e2"
            assert receive_frame(sock) == data
            assert receive_frame(sock) == b"e1"


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
