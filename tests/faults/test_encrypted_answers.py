"""Answers that are slices of encrypted files: decrypted on their way, over plain sockets and TLS."""

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.echo_server import Running, check_slices, frame, receive_frame, still_answers
from tests.rigs.encryption import encrypted
from tidelog.base.disk import PosixDisk
from tidelog.base.ports import FileSlice
from tidelog.server.connection.limits import MIB


def slices_of(
    directory: Path, data: bytes, ranges: list[tuple[int, int]], write_bytes: int = 90_000
) -> list[FileSlice]:
    file = encrypted(PosixDisk(), str(directory)).open(str(directory / "file"), create=True)
    for position in range(0, len(data), write_bytes):
        file.write_at(position, [data[position : position + write_bytes]])
    return [FileSlice(file, position, length) for position, length in ranges]


def test_slices_of_an_encrypted_file_arrive_byte_by_byte(
    start: Callable[..., Running], tmp_path: Path
) -> None:
    running = start()
    rng = random.Random(7)
    data = rng.randbytes(6 * MIB)
    lengths = [0, 1, 100, 65_535, 65_536, 65_537, 262_145, MIB, 5 * MIB, 3]
    lengths += [rng.randrange(3000) for _ in range(300)]
    ranges = [(rng.randrange(len(data) - length), length) for length in lengths]
    running.dispatcher.slices = slices_of(tmp_path, data, ranges)
    check_slices(running, b"".join(data[position : position + length] for position, length in ranges))


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="nobody can empty the page cache here")
def test_encrypted_slices_that_are_not_in_memory_arrive_too(
    start: Callable[..., Running], tmp_path: Path
) -> None:
    running = start()
    data = random.Random(5).randbytes(12 * MIB)
    running.dispatcher.slices = slices_of(tmp_path, data, [(at, MIB) for at in range(0, len(data), MIB)])
    with running.connect() as sock, running.connect() as other:
        with (tmp_path / "file").open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        sock.sendall(frame(b"s") + frame(b"e1"))
        other.sendall(frame(b"e2"))
        assert receive_frame(other) == b"e2"
        assert receive_frame(sock) == data
        assert receive_frame(sock) == b"e1"


@pytest.mark.parametrize("length", [40_000, MIB])
def test_a_damaged_byte_ends_the_connection_and_is_not_sent(
    start: Callable[..., Running], caplog: pytest.LogCaptureFixture, tmp_path: Path, length: int
) -> None:
    running = start()
    running.dispatcher.slices = slices_of(tmp_path, b"x" * length, [(0, length)], 20_000)
    with (tmp_path / "file").open("r+b") as file:
        file.seek(30_000)
        byte = file.read(1)
        file.seek(30_000)
        file.write(bytes([byte[0] ^ 1]))
    with running.connect() as sock:
        sock.sendall(frame(b"s"))
        with pytest.raises((EOFError, ConnectionResetError)):
            receive_frame(sock)
    assert "are not what was written" in caplog.text
    still_answers(running)
