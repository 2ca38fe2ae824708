"""The audit file: lines are appended by a disk thread; at its maximum size the file is renamed."""

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable
from typing import Any

from tidelog.broker.security.audit.audit import Backlog

BACKLOG_BYTES_MAX = 8 * 1024 * 1024
OWNER_ALONE = 0o600

log = logging.getLogger("tidelog.broker.audit")

RunInThread = Callable[[Callable[[], Any]], "asyncio.Future[Any]"]


class AuditFile:
    def __init__(
        self,
        path: str,
        *,
        bytes_max: int,
        count: int,
        run_in_thread: RunInThread,
        line_of_dropped: Callable[[int], bytes],
    ) -> None:
        """OSError where the file cannot be opened: a broker that must write it does not start without."""
        self._path = path
        self._bytes_max = bytes_max
        self._count = count
        self._run_in_thread = run_in_thread
        self._backlog = Backlog(BACKLOG_BYTES_MAX, line_of_dropped)
        self._writing: asyncio.Future[None] | None = None
        self._fd, self._size = _open(path)
        self._has_failed = False

    def write(self, line: bytes) -> None:
        self._backlog.add(line)
        if self._writing is None:
            self._start()

    @property
    def lost_lines(self) -> int:
        return self._backlog.lost_lines

    async def flush(self) -> None:
        if self._writing is None and self._backlog:
            self._start()
        while self._writing is not None:
            await asyncio.wait([self._writing])
            await asyncio.sleep(0)  # its callback comes next

    async def close(self) -> None:
        await self.flush()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _start(self) -> None:
        lines = deque(self._backlog.take())
        self._writing = self._run_in_thread(lambda: self._append(lines))
        self._writing.add_done_callback(lambda done: self._ended(done, lines))

    def _ended(self, done: "asyncio.Future[None]", lines: deque[bytes]) -> None:
        self._writing = None
        error = None if done.cancelled() else done.exception()
        if error is not None:
            self._backlog.give_back(lines)
            if not self._has_failed:
                log.error("the audit file %s cannot be written: %s; events wait in memory", self._path, error)
            self._has_failed = True
            return
        if self._has_failed:
            log.warning("the audit file %s can be written again", self._path)
            self._has_failed = False
        if self._backlog:
            self._start()

    def _append(self, lines: deque[bytes]) -> None:
        """On a thread. Lines leave the queue as they are written, and none is split between two files."""
        while lines:
            if self._size and self._size + len(lines[0]) > self._bytes_max:
                self._rotate()
            self._size += _write_whole(self._fd, lines[0])
            lines.popleft()

    def _rotate(self) -> None:
        for number in range(self._count - 1, 0, -1):
            if os.path.exists(f"{self._path}.{number}"):
                os.replace(f"{self._path}.{number}", f"{self._path}.{number + 1}")
        os.replace(self._path, f"{self._path}.1")
        before = self._fd
        self._fd, self._size = _open(self._path)
        os.close(before)


def _open(path: str) -> tuple[int, int]:
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, OWNER_ALONE)
    return fd, os.fstat(fd).st_size


def _write_whole(fd: int, line: bytes) -> int:
    """A full disk may take half of a line. The half is removed, so that the next try begins a new line."""
    written = 0
    try:
        while written < len(line):
            written += os.write(fd, line[written:])
    except OSError:
        os.ftruncate(fd, os.fstat(fd).st_size - written)
        raise
    return written
