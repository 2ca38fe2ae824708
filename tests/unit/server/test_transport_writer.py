import asyncio
from collections.abc import Iterable

from tidelog.base.ports import FileSlice
from tidelog.server.transport_writer import PIECE_BYTES, TransportWriter


class SlowTransport(asyncio.WriteTransport):
    """Takes bytes, and asks for a pause when it holds too many, as asyncio's do."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = b""
        self.delivered = b""
        self.waiting_max = 0
        self.writer: TransportWriter

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = high or 0

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        self.waiting += b"".join(list_of_data)
        self.waiting_max = max(self.waiting_max, len(self.waiting))
        if len(self.waiting) > self._high:
            self.writer.pause()

    def flush(self) -> None:
        self.writer.flush()

    def deliver(self) -> None:
        self.delivered += self.waiting
        self.waiting = b""
        self.writer.resume()


class Zeros:
    path = "zeros"

    def fileno(self) -> int:
        return 3

    def read_at(self, position: int, length: int) -> bytes:
        return bytes(length)


def test_slices_are_read_as_fast_as_the_transport_delivers() -> None:
    transport = SlowTransport()
    transport.writer = writer = TransportWriter(transport, transport.flush)
    size = 40 * PIECE_BYTES + 7
    writer.put([b"head", FileSlice(Zeros(), 0, size), b"tail"])  # type: ignore[arg-type]
    writer.flush()
    assert writer.pending_bytes > 30 * PIECE_BYTES
    while writer.pending_bytes or transport.waiting:
        transport.deliver()
    assert transport.delivered == b"head" + bytes(size) + b"tail"
    assert transport.waiting_max <= 4 * PIECE_BYTES
