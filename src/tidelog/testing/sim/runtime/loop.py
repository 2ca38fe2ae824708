"""An event loop on virtual time that knows which life each callback belongs to.

When nothing is ready, time jumps to the next timer. Callbacks run in one order only, given by when they were
scheduled, so that a run depends on nothing but its seed.
"""

import asyncio
import heapq
import sys
import warnings
from asyncio import events
from collections import Counter, deque
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from functools import partial
from typing import Any, TypeVar

from tidelog.testing.sim.runtime.life import CURRENT, Life
from tidelog.testing.sim.runtime.memory_disk import PowerCut

T = TypeVar("T")

STEPS_AT_ONE_INSTANT_MAX = 100_000
"""So many callbacks without time passing is a loop that will never end."""


class Stuck(Exception):
    """The simulated world cannot go on: nothing is left to happen, or the same things happen for ever."""


class Call(asyncio.TimerHandle):
    """A callback that is due, now or at a time."""

    __slots__ = ("life",)

    def __init__(
        self, callback: Callable[..., Any], args: tuple[Any, ...], context: Context, life: Life, when: float
    ) -> None:
        # Without asyncio's own constructor, which looks at much that never matters here.
        self._callback = callback
        self._args = args
        self._context = context
        self._cancelled = False
        self._when = when
        self.life = life

    def __repr__(self) -> str:
        return f"<Call {_name(self._callback)} of {self.life.name}>"

    def cancel(self) -> None:
        self._cancelled = True
        self._callback = self._args = None  # type: ignore[assignment]  # lets go of what they hold


class LifeTask(asyncio.Task[Any]):
    """A task that knows whose it is."""

    life: Life


class SimLoop(asyncio.BaseEventLoop):
    def __init__(self) -> None:
        # Nothing of asyncio's own loop is used but its type: it would look at the real clock.
        self.now = 0.0
        """The world's time; `time()` is what the running life believes."""
        self.steps = 0
        self.world = Life("world")
        self.errors: list[str] = []
        """What went wrong in callbacks without a waiter: each is a bug."""
        self.on_error: Callable[[BaseException], None] = lambda error: None
        """With their tracebacks."""
        self._current = self.world
        self._ready: deque[Call] = deque()
        self._timers: list[tuple[float, int, Call]] = []
        self._timers_made = 0
        self._graves: list[asyncio.Task[Any]] = []
        self._closed = False

    @property
    def current_life(self) -> Life:
        return self._current

    # Lives

    def spawn(self, life: Life, work: Coroutine[Any, Any, T], name: str | None = None) -> asyncio.Task[T]:
        return self.create_task(work, name=name, context=life.context.copy())

    def kill(self, life: Life) -> None:
        life.is_alive = False
        life.parked.clear()
        # A task that is collected would run its `finally` blocks, so the dead are kept.
        self._graves += [task for task in self._tasks() if task.life is life]

    def pause(self, life: Life) -> None:
        life.is_paused = True

    def resume(self, life: Life) -> None:
        life.is_paused = False
        parked, life.parked = life.parked, []
        self._ready.extend(parked)

    # Scheduling

    def time(self) -> float:
        return self._current.local_time(self.now)

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> Call:
        if context is None:
            context = copy_context()
        call = Call(callback, args, context, context.get(CURRENT) or self.world, self.now)
        self._ready.append(call)
        return call

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> Call:
        return self.call_soon(callback, *args, context=context)

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> Call:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> Call:
        """At a time of the life that asks."""
        if context is None:
            context = copy_context()
        call = Call(callback, args, context, context.get(CURRENT) or self.world, when)
        self._push(self._current.world_time(when), call)
        return call

    def call_at_world_time(
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context
    ) -> Call:
        call = Call(callback, args, context, context.get(CURRENT) or self.world, when)
        self._push(when, call)
        return call

    def _push(self, when: float, call: Call) -> None:
        self._timers_made += 1
        now = self.now
        heapq.heappush(self._timers, (when if when > now else now, self._timers_made, call))

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(
        self, coro: Any, *, name: object = None, context: Context | None = None
    ) -> asyncio.Task[Any]:
        if self._closed:
            coro.close()
            raise RuntimeError("the simulation is over")
        if context is None:
            context = copy_context()
        task = LifeTask(coro, loop=self, name=None if name is None else str(name), context=context)
        task.life = context.get(CURRENT) or self.world
        return task

    # Running

    def run_until_complete(self, future: Any) -> Any:
        before = events._get_running_loop()
        events._set_running_loop(None)  # a simulation may be run from a test that has a loop of its own
        events._set_running_loop(self)
        try:
            main: asyncio.Future[Any] = self.create_task(future) if asyncio.iscoroutine(future) else future
            self._run(main)
            return main.result()
        finally:
            events._set_running_loop(before)

    def _run(self, main: "asyncio.Future[Any]") -> None:
        ready, timers = self._ready, self._timers
        instant_steps = 0
        while not main.done():
            if ready:
                call = ready.popleft()
                instant_steps += 1
                if instant_steps > STEPS_AT_ONE_INSTANT_MAX:
                    raise Stuck(self._busy_with(call))
            elif timers:
                when, _, call = heapq.heappop(timers)
                if when > self.now:
                    self.now = when
                    instant_steps = 0
            else:
                raise Stuck(f"nothing will ever happen again at {self.now:.3f} s: {main!r} waits for ever")
            life = call.life
            if call._cancelled or not life.is_alive:
                continue
            if life.is_paused:
                life.parked.append(call)
                continue
            self._current = life
            self.steps += 1
            try:
                call._context.run(call._callback, *call._args)
            except (KeyboardInterrupt, SystemExit):
                raise
            except PowerCut:
                pass  # its life ended within the callback
            except BaseException as error:
                self.call_exception_handler({"message": f"in {call!r}", "exception": error})
            self._current = self.world

    def _busy_with(self, current: Call) -> str:
        calls = (current, *self._ready)
        names = Counter(f"{_name(call._callback)} of {call.life.name}" for call in calls)
        often = ", ".join(f"{name} ({count})" for name, count in names.most_common(5))
        return f"{STEPS_AT_ONE_INSTANT_MAX} callbacks at {self.now:.3f} s and no end: {often}"

    # What asyncio asks of a loop

    def is_running(self) -> bool:
        return events._get_running_loop() is self

    def is_closed(self) -> bool:
        return self._closed

    def get_debug(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if self._closed:
            return
        error = context.get("exception")
        if isinstance(error, PowerCut):
            return
        future = context.get("future") or context.get("task")
        where = f" in {future!r}" if future is not None else ""
        self.errors.append(f"{self.now:.3f} {context.get('message')}{where}: {error!r}")
        if error is not None:
            self.on_error(error)

    async def shutdown_asyncgens(self) -> None:
        """There are none."""

    def close(self) -> None:
        """End every task in silence: what its `finally` blocks do has no effect."""
        if self._closed:
            return
        pending = [*self._graves, *self._tasks()]
        self._closed = True
        self._graves.clear()
        self._ready.clear()
        self._timers.clear()
        complain, sys.unraisablehook = sys.unraisablehook, lambda _: None
        try:
            with warnings.catch_warnings(action="ignore"):
                while pending:
                    task = pending.pop()
                    task._log_destroy_pending = False  # type: ignore[attr-defined]
                    try:
                        task.get_coro().close()
                    except BaseException:  # noqa: S110  # the world it lived in is gone
                        pass
                    del task
        finally:
            sys.unraisablehook = complain

    def _tasks(self) -> list[LifeTask]:
        return [task for task in asyncio.all_tasks(self) if isinstance(task, LifeTask)]


def _name(callback: Callable[..., Any] | None) -> str:
    while isinstance(callback, partial):
        callback = callback.func
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        return f"task {owner.get_name()}"
    return getattr(callback, "__qualname__", repr(callback))
