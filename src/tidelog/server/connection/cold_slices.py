"""Parts of log files that are not in the page cache: a thread reads them in, so that the loop does not wait.

`sendfile` of a cold range blocks its thread until the disk has responded, and with it all connections of the
thread. A read that may not wait tells whether a byte is in the cache. For a client that reads a file from
front to back, the next range is read in before the client asks for it.
"""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress

from tidelog.base.ports import File, FileSlice

AHEAD_FACTOR = 8  # of the slice that is sent ...
AHEAD_BYTES_MAX = 16 * 1024 * 1024  # ... so that many partitions read in small pieces do not fill the memory

_NOWAIT = getattr(os, "RWF_NOWAIT", 0)  # Linux; elsewhere the loop waits as it always did


class ColdSlices:
    """For one connection: at most one job at a time, so that it fills no queue of a slow disk."""

    __slots__ = ("_brought", "_is_awaited", "_job", "_loop", "_next", "_path", "_then")

    def __init__(self, loop: asyncio.AbstractEventLoop, then: Callable[[], None]) -> None:
        """`then` is called when the bytes that had to be waited for are in the cache."""
        self._loop = loop
        self._then = then
        self._job: asyncio.Future[None] | None = None
        self._is_awaited = False
        self._brought = (
            -1
        )  # the position that was read in last: sent next, even if it has left the cache again
        # What was sent last: this file, up to here. A client that goes on there reads from front to back.
        # By name: a reference would keep the file open, and its disk space taken after its deletion.
        self._path = ""
        self._next = 0

    def must_wait(self, part: FileSlice, count: int) -> bool:
        """Returns whether the next `count` bytes of a slice must be read from disk first; `then` follows."""
        position = part.position
        if not _NOWAIT or position == self._brought or is_cached(part.file, position + count - 1):
            return False
        self._is_awaited = True
        if self._job is None:
            self._brought = position
            self._start(part.file, position, max(count, self._ahead(part)))
        return True

    def sent(self, part: FileSlice, count: int) -> None:
        """`count` bytes of a slice were sent: read ahead what follows them, unless it is cached."""
        ahead = self._ahead(part)
        self._path, self._next = part.file.path, part.position + count
        self._brought = -1
        if _NOWAIT and ahead and self._job is None and not is_cached(part.file, self._next + ahead // 2):
            self._start(part.file, self._next, ahead)

    def close(self) -> None:
        """The connection is closed: drop the job if no thread has begun it."""
        self._is_awaited = False
        if self._job is not None:
            self._job.cancel()

    def _ahead(self, part: FileSlice) -> int:
        reads_on = part.position == self._next and part.file.path == self._path
        return min(AHEAD_FACTOR * part.length, AHEAD_BYTES_MAX) if reads_on else 0

    def _start(self, file: File, position: int, length: int) -> None:
        self._job = self._loop.run_in_executor(None, bring_in, file, position, length)
        self._job.add_done_callback(self._done)

    def _done(self, _: object) -> None:
        self._job = None
        if self._is_awaited:
            self._is_awaited = False
            self._then()


def is_cached(file: File, position: int) -> bool:
    try:
        fd, at = file.place(position)
        os.preadv(fd, [bytearray(1)], at, _NOWAIT)
    except BlockingIOError:
        return False
    except OSError:
        pass  # this file system cannot tell, or the file is broken: then the send fails
    return True


def bring_in(file: File, position: int, length: int) -> None:
    """Runs on a thread: reads as `sendfile` does, to nowhere.

    The kernel sees a sequential reader and reads ahead in large pages, which cost it a fraction of the single
    ones that POSIX_FADV_WILLNEED brings in. Nothing is copied, and the thread seldom asks for the GIL.
    """
    with suppress(OSError), open(os.devnull, "wb", buffering=0) as nowhere:  # the send reports it
        fd, at = file.place(position)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_SEQUENTIAL)  # twice the usual read-ahead
        end = at + length
        while at < end and (count := os.sendfile(nowhere.fileno(), fd, at, end - at)):
            at += count
