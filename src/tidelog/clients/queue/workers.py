"""Threads that handle jobs until a signal, and what happens to the jobs they have then."""

import inspect
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from tidelog.clients.errors import JobLost, UsageError
from tidelog.clients.log import LOG
from tidelog.clients.queue.engine import QueueEngine
from tidelog.clients.queue.held import HeldJob, fate
from tidelog.clients.queue.idle import IdleTime
from tidelog.clients.queue.job import Job

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class WorkerThreads:
    def __init__(
        self,
        engine: QueueEngine,
        job_of: Callable[[HeldJob], Job[Any, Any]],
        handler: Callable[[Job[Any, Any]], object],
        timeout_s: float | None,
    ) -> None:
        self._engine = engine
        self._job_of = job_of
        self._handler = handler
        self._is_stopped = threading.Event()
        self._idle = IdleTime(timeout_s, time.monotonic())
        self._error: BaseException | None = None

    def run(self, workers: int, grace_s: float) -> None:
        """Until stopped; raises what ended the queue."""
        threads = [
            threading.Thread(target=self._work, name=f"{self._engine.topic}-worker-{number}", daemon=True)
            for number in range(workers)
        ]
        with stopping(self.stop):
            for thread in threads:
                thread.start()
            try:
                while not self._is_stopped.is_set() and any(thread.is_alive() for thread in threads):
                    self._is_stopped.wait(0.2)
            finally:
                self.stop()
                self._join(threads, grace_s)
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        self._is_stopped.set()
        # A signal may have come while the lock was held by this thread.
        threading.Thread(target=self._engine.wake, daemon=True).start()

    def _join(self, threads: list[threading.Thread], grace_s: float) -> None:
        deadline = time.monotonic() + grace_s
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        late = sum(thread.is_alive() for thread in threads)
        if late:
            LOG.warning(
                "%s: %d handlers still run after %g s; their jobs are released when the queue is closed",
                self._engine.topic, late, grace_s,
            )  # fmt: skip

    def _work(self) -> None:
        try:
            while not self._is_stopped.is_set():
                held = self._engine.take(self._idle.left(time.monotonic()), self._is_stopped.is_set)
                if held is not None:
                    self._idle.busy(time.monotonic())
                    handle(self._job_of(held), self._handler)
                    self._idle.busy(time.monotonic())
                elif self._idle.left(time.monotonic()) == 0:
                    return
        except BaseException as error:
            self._error = self._error or error
            self.stop()


def check_plain(handler: Callable[..., object]) -> None:
    if inspect.iscoroutinefunction(handler):
        raise HandlerIsAsync(f"{handler!r} cannot be the handler of a Queue.")


def check_workers(workers: int) -> None:
    if workers < 1:
        raise UsageError(
            f"workers={workers} would do no job.",
            cause="work() begins so many handlers at once.",
            attempt="pass at least one.",
        )


class HandlerIsAsync(UsageError):
    """Its call has done nothing yet: the job would count as done."""

    cause = "the handler is a coroutine function, which threads do not await."
    attempt = "use AsyncQueue, or a plain function."


def handle(job: Job[Any, Any], handler: Callable[[Job[Any, Any]], object]) -> None:
    """A handler that raises gives its job back; the queue goes on."""
    try:
        with job:
            outcome = handler(job)
            if inspect.isawaitable(outcome):
                if inspect.iscoroutine(outcome):
                    outcome.close()
                raise HandlerIsAsync(f"The handler of {job!r} returned {outcome!r}, which nobody awaits.")
    except HandlerIsAsync:
        raise
    except JobLost as error:
        LOG.warning("%r: %s", job, error)
    except Exception:
        LOG.exception("%r: the handler failed, and the job %s", job, fate(job.held))


@contextmanager
def stopping(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` on SIGTERM and SIGINT, where this is the main thread; a second signal does as before."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[int, Any] = {}

    def on_signal(number: int, _: FrameType | None) -> None:
        signal.signal(number, before[number])
        stop()

    try:
        for each in STOP_SIGNALS:
            before[each] = signal.signal(each, on_signal)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
