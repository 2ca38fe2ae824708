"""A few threads for disk work that blocks: fsync, deletion, compaction.

These calls release the GIL, so the loop goes on meanwhile. The queue is bounded: if work piles up, the
disk cannot keep up, and callers get an error.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tidelog.base.errors import TidelogError

T = TypeVar("T")


class DiskThreadsBusy(TidelogError):
    """More jobs wait for the disk than the limit allows."""


class DiskThreads:
    """Use it from the loop it was made on; `close` waits for the jobs that have begun."""

    def __init__(self, name: str = "disk", *, threads: int = 4, waiting_max: int = 10_000) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"tidelog-{name}")
        self._threads = threads
        self._limit = threads + waiting_max
        self._jobs = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False

    @property
    def jobs(self) -> int:
        """Jobs that are not finished, running and waiting."""
        return self._jobs

    @property
    def waiting(self) -> int:
        """Jobs that wait for a thread."""
        return max(0, self._jobs - self._threads)

    def run(self, job: Callable[[], T]) -> asyncio.Future[T]:
        """Run the job on a thread; cancelling the future drops a job that has not begun."""
        if self._closed:
            raise RuntimeError("the disk threads are closed")
        if self._jobs >= self._limit:
            raise DiskThreadsBusy(f"{self._jobs} disk jobs are waiting, limit {self._limit}")
        self._jobs += 1
        self._idle.clear()
        future = asyncio.get_running_loop().run_in_executor(self._pool, job)
        future.add_done_callback(self._done)
        return future

    async def close(self) -> None:
        """Take no more jobs, finish those that wait, end the threads."""
        self._closed = True
        await self._idle.wait()
        # A job whose future was cancelled may still run; joining blocks only for its rest.
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()

        def join() -> None:
            self._pool.shutdown(wait=True)
            loop.call_soon_threadsafe(ended.set)

        threading.Thread(target=join, name="tidelog-join", daemon=True).start()
        await ended.wait()

    def _done(self, _: "asyncio.Future[T]") -> None:
        self._jobs -= 1
        if not self._jobs:
            self._idle.set()
