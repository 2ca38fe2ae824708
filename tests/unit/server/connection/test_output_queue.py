import pytest

from tidelog.base.errors import StorageError
from tidelog.base.ports import FileSlice
from tidelog.server.connection.output_queue import BUFFERS_MAX, GATHER_BYTES, SENDFILE_BYTES, OutputQueue


class Bytes:
    """A file in memory that says whether it has a descriptor."""

    path = "/data/t-0/00000000000000000000.log"

    def __init__(self, data: bytes, fd: int = 7) -> None:
        self._data = data
        self._fd = fd

    def fileno(self) -> int:
        return self._fd

    def place(self, position: int) -> tuple[int, int]:
        return self._fd, position

    def read_intact(self, position: int, length: int) -> bytes:
        return self._data[position : position + length]


def piece(data: bytes, position: int, length: int, fd: int = 7) -> FileSlice:
    return FileSlice(Bytes(data, fd), position, length)  # type: ignore[arg-type]


def test_buffers_and_small_slices_leave_together_in_order() -> None:
    queue = OutputQueue()
    queue.put([b"head", piece(b"0123456789", 2, 5), bytearray(b"tail")])
    assert queue.gather() == ([b"head", b"23456", b"tail"], False)
    assert (queue.pending_bytes, queue.memory_bytes) == (13, 8)


def test_a_large_slice_is_left_for_sendfile() -> None:
    queue = OutputQueue()
    queue.put([b"head", piece(bytes(SENDFILE_BYTES + 1), 0, SENDFILE_BYTES + 1), b"tail"])
    assert queue.gather() == ([b"head"], True)


def test_a_slice_without_descriptor_is_read_in_pieces() -> None:
    queue = OutputQueue()
    data = bytes(range(256)) * 8192
    queue.put([piece(data, 0, len(data), fd=-1)])
    got = b""
    while queue.pending_bytes:
        buffers, more = queue.gather()
        assert not more
        assert len(buffers[0]) <= GATHER_BYTES
        got += b"".join(buffers)
        queue.sent(len(buffers[0]))
    assert got == data


def test_sending_stops_anywhere_and_goes_on_there() -> None:
    parts = [b"abc", piece(b"0123456789", 1, 8), b"", piece(b"xy", 0, 0), memoryview(b"defg")]
    whole = b"abc12345678defg"
    for step in range(1, len(whole) + 1):
        queue = OutputQueue()
        queue.put(parts)
        got = b""
        while queue.pending_bytes:
            sent = b"".join(queue.gather()[0])[:step]
            got += sent
            queue.sent(len(sent))
        assert got == whole
        assert (queue.memory_bytes, queue.sent_bytes) == (0, len(whole))


def test_one_gather_is_bounded() -> None:
    queue = OutputQueue()
    queue.put([b"x"] * (2 * BUFFERS_MAX))
    assert len(queue.gather()[0]) == BUFFERS_MAX
    queue = OutputQueue()
    queue.put([piece(bytes(60_000), 0, 60_000)] * 100)
    assert sum(map(len, queue.gather()[0])) < GATHER_BYTES + 60_000


def test_a_file_that_ends_early_is_an_error_that_names_it() -> None:
    queue = OutputQueue()
    queue.put([piece(b"short", 0, 10)])
    with pytest.raises(StorageError, match=r"00000000000000000000.log ends before byte 10"):
        queue.gather()


def test_the_slice_in_front_becomes_bytes_a_stretch_at_a_time() -> None:
    queue = OutputQueue()
    queue.put([piece(b"0123456789", 0, 10), b"tail"])
    queue.read_head(4)
    assert (queue.parts[0], len(queue.parts[1]), queue.slices) == (b"0123", 6, 1)
    assert (queue.pending_bytes, queue.memory_bytes) == (14, 8)
    queue.sent(4)
    queue.read_head(100)
    assert (list(queue.parts), queue.slices, queue.memory_bytes) == ([b"456789", b"tail"], 0, 10)
    queue.read_head(5)  # no slice is in front
    assert queue.memory_bytes == 10


def test_a_slice_that_its_file_is_too_short_for_does_not_become_bytes() -> None:
    queue = OutputQueue()
    queue.put([piece(b"0123456789", 5, 10)])
    with pytest.raises(StorageError, match="promised"):
        queue.read_head(10)
