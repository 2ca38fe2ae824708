"""Frames cut from a stream in any pieces, memory short or not, are those of the obvious reading."""

import struct

from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.server.connection.buffer_pool import BufferPool
from tidelog.server.connection.receive_buffer import ReceiveBuffer

CHUNK_BYTES = 40_000

sizes = st.one_of(st.integers(1, 40), st.sampled_from([39_996, 65_535, 65_536, 99_999, 300_000]))


@settings(max_examples=50)
@given(
    bodies=st.lists(sizes, min_size=1, max_size=6),
    pieces=st.lists(st.one_of(st.integers(1, 9), st.integers(1, CHUNK_BYTES)), min_size=1, max_size=8),
    cuts_per_turn=st.integers(1, 3),
    short=st.lists(st.booleans(), min_size=1, max_size=5),
)
def test_any_pieces_give_the_same_frames(
    bodies: list[int], pieces: list[int], cuts_per_turn: int, short: list[bool]
) -> None:
    expected = [bytes([index + 1]) * size for index, size in enumerate(bodies)]
    stream = b"".join(struct.pack(">i", len(body)) + body for body in expected)
    if len(stream) > 100_000:
        pieces = [piece if piece > 5000 else 30_000 for piece in pieces]
    chunk = bytearray(CHUNK_BYTES)
    pool = BufferPool(1 << 21)
    receive = ReceiveBuffer(chunk, 1 << 26, pool)
    got: list[bytes] = []
    position = turn = 0
    while position < len(stream) or len(got) < len(expected):
        if position < len(stream):
            window = receive.writable() or memoryview(chunk)
            count = min(len(window), pieces[turn % len(pieces)], len(stream) - position)
            window[:count] = stream[position : position + count]
            position += count
            receive.received(count)
        waiting = True
        while waiting:  # the connection reads on only when all that arrived is cut
            for _ in range(cuts_per_turn):
                frame = receive.next_frame()
                if frame is None:
                    waiting = False
                    break
                got.append(frame.tobytes())
                buffer, frame = frame.obj, None
                pool.give(buffer)
            if not waiting and receive.room_wanted(short=short[turn % len(short)]):
                receive.grow()
            receive.keep()
            chunk[:] = b"\xff" * CHUNK_BYTES  # others use it meanwhile
        turn += 1
    assert got == expected
    assert not receive.mid_frame
    assert receive.held_bytes == 0
