"""From a stream of bytes to frames, independent of sockets.

A connection receives into a chunk that all connections of a loop share, so an idle one owns no
memory; frames are copied out of it, since the dispatcher keeps and patches them. A large frame
gets a buffer of its own that grows as bytes arrive: an announced size alone costs no memory.

    frame: size i32 big-endian, then `size` bytes
"""

import struct

from tidelog.base.errors import ProtocolError
from tidelog.base.invariant import invariant
from tidelog.server.connection.buffer_pool import POOLED_BYTES, BufferPool, round_up

SIZE = struct.Struct(">i")
CHUNK_BYTES = 256 * 1024
# While memory is short, bytes are taken in cups, then in sips: enough for a heartbeat or a fetch.
CUP_BYTES = 16 * 1024
SIP_BYTES = 1024
# A frame that misses more than this is received straight into its own buffer ...
DIRECT_BYTES = 64 * 1024
# ... once this much of it has arrived; the buffer begins with room for a full produce request.
EARNED_BYTES = 32 * 1024
FIRST_ROOM_BYTES = 2 * 1024 * 1024
# Far above an ordinary frame; four letters of text, read as a size, are larger.
SUSPICIOUS_BYTES = 16 * 1024 * 1024

_HTTP = {b"GET ", b"POST", b"PUT ", b"HEAD", b"DELE", b"OPTI", b"PATC", b"CONN", b"TRAC", b"PRI "}
_NOTHING = bytearray()


class FrameRefused(ProtocolError):
    """The next four bytes cannot be the size of a request; `cause` groups log lines."""

    def __init__(self, cause: str, text: str) -> None:
        super().__init__(text)
        self.cause = cause


class ReceiveBuffer:
    __slots__ = (
        "_chunk",
        "_end",
        "_filled",
        "_frame",
        "_pool",
        "_position",
        "_room",
        "_size",
        "_source",
        "frame_bytes_max",
    )

    def __init__(self, chunk: bytearray, frame_bytes_max: int, pool: BufferPool) -> None:
        self._chunk = chunk
        self._pool = pool
        self.frame_bytes_max = frame_bytes_max
        # Bytes that have arrived and are not split into frames yet: in the chunk, or kept aside.
        self._source = _NOTHING
        self._position = 0
        self._end = 0
        # The frame under way: its size once known, and what has arrived of it.
        self._size = -1
        self._frame = _NOTHING
        self._filled = 0
        self._room: memoryview | None = None  # over `_frame`, while bytes go straight into it

    @property
    def mid_frame(self) -> bool:
        return self._size >= 0 or self._position < self._end

    @property
    def held_bytes(self) -> int:
        """Memory that this buffer owns, without the shared chunk."""
        kept = 0 if self._source is self._chunk else len(self._source)
        return kept + len(self._frame)

    @property
    def frame_size(self) -> int:
        """The announced size of the frame under way, -1 if there is none."""
        return self._size

    @property
    def frame_room(self) -> int:
        """The memory that the whole frame under way takes."""
        return round_up(self._size)

    def writable(self) -> memoryview | None:
        """Returns the rest of a large frame's own buffer; None if bytes go into the shared chunk."""
        return None if self._room is None else self._room[self._filled :]

    def received(self, count: int) -> bool:
        """`count` bytes have arrived in the view from `writable`, or at the beginning of the chunk.

        Returns False if they are part of a large frame that is not complete yet.
        """
        if self._room is not None:
            self._filled += count
            return self._filled == len(self._room)
        if self._position == self._end:
            self._source = self._chunk
            self._position = 0
            self._end = count
        else:
            self._source = self._source[self._position : self._end] + self._chunk[:count]
            self._position = 0
            self._end = len(self._source)
        return True

    def only_frame(self, count: int) -> memoryview | None:
        """Returns the frame if `count` bytes at the beginning of the chunk are one small frame and no more.

        Only valid while no frame is under way. None changes nothing, and `received` must follow.
        """
        chunk = self._chunk
        size: int = SIZE.unpack_from(chunk)[0]
        if size + 4 != count or not 0 < size < POOLED_BYTES or size > self.frame_bytes_max:
            return None
        return memoryview(chunk[4:count])

    def next_frame(self) -> memoryview | None:
        """Returns the next whole frame, writable and owned by the caller; None until more bytes arrive."""
        if self._size >= 0:
            return self._rest_of_frame()
        start = self._position + 4
        if start > self._end:
            return None
        source = self._source
        size: int = SIZE.unpack_from(source, self._position)[0]
        if not 0 < size <= self.frame_bytes_max or size > SUSPICIOUS_BYTES:
            self._refuse_other_protocols(size, bytes(source[self._position : start]))
        stop = start + size
        if stop <= self._end:
            self._position = stop
            if size < POOLED_BYTES:
                return memoryview(source[start:stop])
            frame = memoryview(self._pool.take(size))[:size]
            frame[:] = memoryview(source)[start:stop]
            return frame
        self._size = size
        self._position = start
        return None

    def keep(self) -> None:
        """Copy what is not split into frames yet, before another connection receives into the chunk."""
        if self._size >= 0:
            self._gather()
        if self._position == self._end:
            self._source = _NOTHING
            self._position = self._end = 0
        elif self._source is self._chunk:
            self._source = self._chunk[self._position : self._end]
            self._end -= self._position
            self._position = 0

    def room_wanted(self, *, short: bool) -> int:
        """Returns the bytes of memory that the frame under way needs before it can go on; 0 if none.

        While memory is `short`, a small frame too must claim memory before it gathers more than a sip.
        """
        if self._size < 0:
            return 0
        if self._room is None:
            arrived = self._filled + self._end - self._position
            missing = self._size - arrived
            if not short and (missing <= DIRECT_BYTES or arrived < EARNED_BYTES):
                return 0
        elif self._filled < len(self._room):
            return 0
        return self._room_target() - len(self._frame)

    def grow(self) -> None:
        """Allocate the room that `room_wanted` asked for."""
        invariant(self._size >= 0, "no frame to make room for")
        grown = self._pool.take(self._room_target())
        room = memoryview(grown)[: self._size]
        room[: self._filled] = memoryview(self._frame)[: self._filled]
        fresh = self._end - self._position
        room[self._filled : self._filled + fresh] = memoryview(self._source)[self._position : self._end]
        self._filled += fresh
        self._position = self._end
        outgrown, self._frame, self._room = self._frame, grown, room
        if len(outgrown) >= POOLED_BYTES:
            self._pool.give(outgrown)

    def drop(self) -> None:
        """The connection is closed: drop what has arrived."""
        self._source = self._frame = _NOTHING
        self._room = None
        self._position = self._end = self._filled = 0
        self._size = -1

    def _rest_of_frame(self) -> memoryview | None:
        if self._room is None:
            self._gather()
        if self._filled < self._size:
            return None
        frame = memoryview(self._frame) if self._room is None else self._room
        self._frame = _NOTHING
        self._room = None
        self._filled = 0
        self._size = -1
        return frame

    def _room_target(self) -> int:
        arrived = self._filled + self._end - self._position
        return round_up(min(self._size, max(FIRST_ROOM_BYTES, 2 * arrived)))

    def _gather(self) -> None:
        """Append what has arrived of a small frame."""
        taken = min(self._size - self._filled, self._end - self._position)
        if taken:
            stop = self._position + taken
            if self._frame is _NOTHING:
                self._frame = self._source[self._position : stop]
            else:
                self._frame += memoryview(self._source)[self._position : stop]
            self._position = stop
            self._filled += taken

    def _refuse_other_protocols(self, size: int, head: bytes) -> None:
        if head in _HTTP:
            raise FrameRefused("http", "spoke HTTP instead of the Kafka protocol")
        if head[:2] == b"\x16\x03":
            raise FrameRefused("tls", "sent a TLS hello to a plaintext listener")
        if head == b"SSH-":
            raise FrameRefused("ssh", "spoke SSH instead of the Kafka protocol")
        if not 0 < size <= self.frame_bytes_max:
            raise FrameRefused(
                "frame size", f"announced a frame of {size} bytes (1 to {self.frame_bytes_max} allowed)"
            )
