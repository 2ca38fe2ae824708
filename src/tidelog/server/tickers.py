"""Chores by the clock: one owned task each. A chore that fails is logged and tried again at its next turn."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

log = logging.getLogger("tidelog.server.tickers")

Chore = Callable[[], Awaitable[object] | None]


class Tickers:
    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []

    def every(self, seconds: Callable[[], float], chore: Chore, name: str) -> None:
        """`seconds` is called before each turn, so that a changed setting takes effect without a restart."""
        self._tasks.append(
            asyncio.get_running_loop().create_task(self._repeat(seconds, chore, name), name=name)
        )

    async def _repeat(self, seconds: Callable[[], float], chore: Chore, name: str) -> None:
        while True:
            await asyncio.sleep(seconds())
            try:
                waiting = chore()
                if waiting is not None:
                    await waiting
            except Exception:
                log.exception("%s failed; it is tried again in %g s", name, seconds())

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
