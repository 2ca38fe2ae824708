"""Responses that wait to be sent: buffers and file slices in order, and their sizes.

Slices own no memory: bytes that a slow client does not take are read from the file again later.
"""

from collections import deque
from collections.abc import Iterable
from itertools import islice

from tidelog.base.errors import StorageError
from tidelog.base.ports import Buffer, FileSlice

# Below this a pread and a shared sendmsg beat a sendfile of its own (benches/connection.py).
SENDFILE_BYTES = 64 * 1024
BUFFERS_MAX = 512  # below every platform's limit per sendmsg
GATHER_BYTES = 512 * 1024


class OutputQueue:
    __slots__ = ("memory_bytes", "parts", "pending_bytes", "sent_bytes", "slices")

    def __init__(self) -> None:
        self.parts: deque[Buffer | FileSlice] = deque()
        self.slices = 0  # the number of parts that are slices
        self.pending_bytes = 0  # all that is queued
        self.memory_bytes = 0  # of these, the bytes in memory
        self.sent_bytes = 0

    def put(self, parts: Iterable[Buffer | FileSlice]) -> None:
        for part in parts:
            size = len(part)
            self.pending_bytes += size
            if isinstance(part, FileSlice):
                self.slices += 1
            else:
                self.memory_bytes += size
            self.parts.append(part)

    def gather(self, bytes_max: int = GATHER_BYTES) -> tuple[list[Buffer], bool]:
        """Returns buffers for one send, with small slices read in, and whether a large slice is next.

        At least one buffer unless the queue is empty. Raises StorageError if a file is too short.
        """
        buffers: list[Buffer] = []
        size = 0
        for part in islice(self.parts, BUFFERS_MAX):
            if size >= bytes_max:
                break
            if isinstance(part, FileSlice):
                if buffers and goes_alone(part):
                    return buffers, True
                count = min(part.length, bytes_max)
                data = part.file.read_intact(part.position, count)
                if len(data) < count:
                    raise truncated(part)
                buffers.append(data)
                size += count
                if count < part.length:
                    break
            else:
                buffers.append(part)
                size += len(part)
        return buffers, False

    def sent(self, count: int) -> None:
        """Drop `count` bytes from the front."""
        self.sent_bytes += count
        if count == self.pending_bytes:
            self.clear()
            return
        self.pending_bytes -= count
        parts = self.parts
        while parts:
            part = parts[0]
            size = len(part)
            if size > count:
                if not count:
                    return
                if isinstance(part, FileSlice):
                    parts[0] = FileSlice(part.file, part.position + count, size - count)
                else:
                    parts[0] = memoryview(part)[count:]
                    self.memory_bytes -= count
                return
            parts.popleft()
            count -= size
            if isinstance(part, FileSlice):
                self.slices -= 1
            else:
                self.memory_bytes -= size

    def read_head(self, count: int) -> None:
        """Replace the first `count` bytes of the slice in front by the bytes themselves.

        Raises StorageError if the file is too short, OSError if they are damaged.
        """
        part = self.parts[0]
        if not isinstance(part, FileSlice):
            return
        count = min(count, part.length)
        data = part.file.read_intact(part.position, count)
        if len(data) < count:
            raise truncated(part)
        if count < part.length:
            self.parts[0] = FileSlice(part.file, part.position + count, part.length - count)
        else:
            self.parts.popleft()
            self.slices -= 1
        self.parts.appendleft(data)
        self.memory_bytes += count

    def clear(self) -> None:
        self.parts.clear()
        self.slices = self.pending_bytes = self.memory_bytes = 0


def goes_alone(part: FileSlice) -> bool:
    """A large slice: by `sendfile`, or out of an encrypted file a stretch at a time."""
    return part.length > SENDFILE_BYTES and part.file.place(part.position)[0] >= 0


def truncated(part: FileSlice) -> StorageError:
    end = part.position + part.length
    return StorageError(f"{part.file.path} ends before byte {end}, which was promised to a reader")
