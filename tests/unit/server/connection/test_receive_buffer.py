import struct

import pytest

from tidelog.server.connection.buffer_pool import BufferPool
from tidelog.server.connection.receive_buffer import (
    CHUNK_BYTES,
    FIRST_ROOM_BYTES,
    FrameRefused,
    ReceiveBuffer,
)

MIB = 1024 * 1024


class Feed:
    """A connection's part: the shared chunk, and room granted whenever it is wanted."""

    def __init__(self, frame_bytes_max: int = 100 * MIB) -> None:
        self.chunk = bytearray(CHUNK_BYTES)
        self.receive = ReceiveBuffer(self.chunk, frame_bytes_max, BufferPool(16 * MIB))

    def arrive(self, data: bytes) -> list[bytes]:
        frames = []
        rest = memoryview(data)
        while rest:
            window = self.receive.writable() or memoryview(self.chunk)
            count = min(len(window), len(rest))
            window[:count] = rest[:count]
            rest = rest[count:]
            self.receive.received(count)
            while (frame := self.receive.next_frame()) is not None:
                assert not frame.readonly
                frames.append(frame.tobytes())
            if self.receive.room_wanted(short=False):
                self.receive.grow()
            self.receive.keep()
            self.chunk[:] = b"\xee" * CHUNK_BYTES  # another connection receives
        return frames


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def test_many_frames_in_one_receive() -> None:
    feed = Feed()
    assert feed.arrive(frame(b"one") + frame(b"two") + frame(b"three")) == [b"one", b"two", b"three"]
    assert not feed.receive.mid_frame
    assert feed.receive.held_bytes == 0


def test_a_byte_at_a_time() -> None:
    feed = Feed()
    frames: list[bytes] = []
    for byte in frame(b"slow") + frame(b"!"):
        frames += feed.arrive(bytes([byte]))
    assert frames == [b"slow", b"!"]


def test_a_frame_is_the_callers_own() -> None:
    feed = Feed()
    feed.chunk[:7] = frame(b"abc")
    feed.receive.received(7)
    mine = feed.receive.next_frame()
    assert mine is not None
    feed.chunk[:7] = frame(b"xyz")
    assert mine.tobytes() == b"abc"


def test_an_announced_frame_holds_nothing_until_it_arrives() -> None:
    feed = Feed()
    feed.arrive(struct.pack(">i", 100 * MIB))
    assert feed.receive.mid_frame
    assert feed.receive.held_bytes == 0
    feed.arrive(bytes(1000))
    assert feed.receive.held_bytes == 1000


def test_a_large_frame_takes_room_as_it_arrives() -> None:
    feed = Feed()
    feed.arrive(struct.pack(">i", 100 * MIB) + bytes(100_000))
    assert feed.receive.held_bytes == FIRST_ROOM_BYTES
    feed.arrive(bytes(2 * FIRST_ROOM_BYTES))
    assert feed.receive.held_bytes == 4 * FIRST_ROOM_BYTES


def test_large_frames_are_whole_and_what_follows_them_is_not_lost() -> None:
    feed = Feed()
    bodies = [bytes([number]) * size for number, size in enumerate([9 * MIB, 70_000, 3, MIB + 120, 200_000])]
    assert feed.arrive(b"".join(map(frame, bodies))) == bodies
    assert feed.receive.held_bytes == 0


def test_while_memory_is_short_a_small_frame_asks_for_its_rest() -> None:
    feed = Feed()
    feed.arrive(struct.pack(">i", 5000) + bytes(100))
    assert feed.receive.room_wanted(short=False) == 0
    assert feed.receive.room_wanted(short=True) >= 4900
    feed.receive.grow()
    assert feed.receive.room_wanted(short=True) == 0
    assert feed.arrive(bytes(4900)) == [bytes(5000)]


def test_what_is_not_cut_yet_is_kept() -> None:
    feed = Feed()
    data = frame(b"first") + frame(b"second") + b"\0\0"
    feed.chunk[: len(data)] = data
    feed.receive.received(len(data))
    first = feed.receive.next_frame()
    feed.receive.keep()
    assert feed.receive.held_bytes == len(data) - 9
    feed.chunk[:] = bytes(CHUNK_BYTES)
    second = feed.receive.next_frame()
    assert first is not None
    assert second is not None
    assert (first.tobytes(), second.tobytes()) == (b"first", b"second")
    assert feed.receive.next_frame() is None
    assert feed.arrive(b"\0\1x") == [b"x"]


@pytest.mark.parametrize(
    ("head", "cause"),
    [
        (struct.pack(">i", 0), "frame size"),
        (struct.pack(">i", -1), "frame size"),
        (struct.pack(">i", -(2**31)), "frame size"),
        (struct.pack(">i", 1001), "frame size"),
        (b"GET ", "http"),
        (b"POST", "http"),
        (b"\x16\x03\x01\x02", "tls"),
        (b"SSH-", "ssh"),
    ],
)
def test_sizes_that_cannot_be(head: bytes, cause: str) -> None:
    feed = Feed(frame_bytes_max=1000)
    with pytest.raises(FrameRefused) as refused:
        feed.arrive(head)
    assert refused.value.cause == cause


def test_a_tls_hello_is_recognised_where_frames_may_be_that_large() -> None:
    feed = Feed(frame_bytes_max=2**31 - 1)
    with pytest.raises(FrameRefused, match="TLS"):
        feed.arrive(b"\x16\x03\x01\x02")


def test_one_small_frame_alone_is_taken_without_detours() -> None:
    feed = Feed()
    feed.chunk[:7] = frame(b"one")
    taken = feed.receive.only_frame(7)
    assert taken is not None
    assert taken.tobytes() == b"one"
    assert not taken.readonly
    feed.chunk[:7] = bytes(7)
    assert taken.tobytes() == b"one", "it is a copy: others receive into the chunk"
    assert not feed.receive.mid_frame
    assert feed.arrive(frame(b"two")) == [b"two"]


@pytest.mark.parametrize(
    "arrived",
    [b"\0\0\0", frame(b""), frame(b"one")[:-1], frame(b"one") + b"\0", frame(b"one") * 2, b"GET / HTTP"],
)
def test_anything_else_is_left_to_the_long_way(arrived: bytes) -> None:
    feed = Feed()
    feed.chunk[: len(arrived)] = arrived
    assert feed.receive.only_frame(len(arrived)) is None
    assert not feed.receive.mid_frame


def test_a_frame_beyond_the_limit_is_left_to_the_long_way_which_refuses_it() -> None:
    feed = Feed(frame_bytes_max=2)
    feed.chunk[:7] = frame(b"one")
    assert feed.receive.only_frame(7) is None
    with pytest.raises(FrameRefused):
        feed.arrive(frame(b"one"))
