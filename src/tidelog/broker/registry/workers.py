"""Schemas are parsed and compared beside the event loop: a large one takes longer than a turn may.

What was prepared a moment ago is known: clients look the same schemas up again and again, and the way to a
thread and back costs more than all the rest of a lookup.
"""

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from tidelog.base.errors import TidelogError
from tidelog.broker.log_dirs.flusher import RunInThread
from tidelog.registry.errors import RegistryCode, RegistryError

if TYPE_CHECKING:
    from tidelog.registry.preparing import Job, Prepared, Source

ResultT = TypeVar("ResultT")

KNOWN_JOBS = 1000
KNOWN_CHARS_MAX = 8 * 1024
"""Of all texts of a job: with larger ones, what is known would take too much memory."""
JOB_SECONDS = 10.0
"""Of one job. A thread cannot be stopped from outside, and the next schemas wait for it."""


class _Watch:
    """The time of a job, from its first comparison on."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._ends: float | None = None
        self.is_left = False
        """The client is gone, and so is the reason for the job."""

    def is_over(self) -> bool:
        now = self._monotonic()
        if self._ends is None:
            self._ends = now + JOB_SECONDS
        return self.is_left or now > self._ends


class SchemaWorkers:
    def __init__(self, run_in_thread: RunInThread, monotonic: Callable[[], float] = lambda: 0.0) -> None:
        """`run_in_thread` has a bound of its own, and raises TidelogError beyond it."""
        self._run_in_thread = run_in_thread
        self._monotonic = monotonic
        self._known: OrderedDict[Job, Prepared] = OrderedDict()

    async def prepare(self, job: "Job") -> "Prepared":
        from tidelog.registry.preparing import chars_of  # with the first schema

        if chars_of(job) > KNOWN_CHARS_MAX:
            return await self._prepare(job)
        prepared = self._known.get(job)
        if prepared is None:
            prepared = await self._prepare(job)
        self._known[job] = prepared
        self._known.move_to_end(job)
        if len(self._known) > KNOWN_JOBS:
            self._known.popitem(last=False)
        return prepared

    async def _prepare(self, job: "Job") -> "Prepared":
        from tidelog.registry.preparing import prepare

        watch = _Watch(self._monotonic)
        try:
            return await self._run(partial(prepare, job, watch.is_over))
        finally:
            watch.is_left = True

    async def formatted(self, source: "Source", format: str) -> str:
        from tidelog.registry.preparing import formatted

        return await self._run(partial(formatted, source, format))

    async def record_names(self, source: "Source") -> list[str]:
        from tidelog.registry.validation.record_names import record_names

        return await self._run(partial(record_names, source))

    async def _run(self, work: Callable[[], ResultT]) -> ResultT:
        try:
            made: ResultT = await self._run_in_thread(work)
        except TidelogError as error:
            raise RegistryError(
                RegistryCode.TOO_MANY_REQUESTS,
                f"Too many schemas wait to be checked ({error}): try again in a moment",
            ) from error
        return made
