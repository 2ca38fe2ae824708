"""Messages on their way from the consumer's thread to the event loop, with errors in their place."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from tidelog.clients.records import Message, TopicPartition


class MessageQueue:
    """The thread puts and drops, the loop takes. `wake` is called whenever the loop wants something."""

    def __init__(self, loop: asyncio.AbstractEventLoop, wake: Callable[[], None]) -> None:
        self._loop = loop
        self._wake = wake
        self._lock = threading.Lock()
        self._items: deque[Message[Any, Any] | BaseException] = deque()
        self._waiters: set[asyncio.Future[None]] = set()
        self.taken_at = time.monotonic()

    def __len__(self) -> int:
        return len(self._items)

    @property
    def is_wanted(self) -> bool:
        """A reader waits, and the queue is empty."""
        return bool(self._waiters) and not self._items

    # The thread's side

    def put(self, items: Iterable[Message[Any, Any] | BaseException]) -> None:
        with self._lock:
            self._items.extend(items)
        if self._waiters:
            self.tell_waiters()

    def tell_waiters(self) -> None:
        self._loop.call_soon_threadsafe(self._release_waiters)

    def drop(self, places: Iterable[TopicPartition]) -> None:
        gone = set(places)
        with self._lock:
            self._items = deque(
                item
                for item in self._items
                if not isinstance(item, Message) or (item.topic, item.partition) not in gone
            )

    # The loop's side

    def take(self, limit: int) -> list[Message[Any, Any]]:
        """What is there. An error comes alone, raised by the call that it is first in line for."""
        taken: list[Message[Any, Any]] = []
        with self._lock:
            while self._items and len(taken) < limit:
                item = self._items[0]
                if isinstance(item, BaseException):
                    if taken:
                        break
                    self._items.popleft()
                    raise item
                taken.append(item)
                self._items.popleft()
        if taken:
            self.taken_at = time.monotonic()
        return taken

    async def wait(self, timeout_s: float | None) -> None:
        """Until something was put, or the time is over."""
        self.taken_at = time.monotonic()
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._waiters.add(waiter)
        self._wake()
        try:
            if not self._items:
                await asyncio.wait([waiter], timeout=timeout_s)
        finally:
            self._waiters.discard(waiter)
            waiter.cancel()
            self.taken_at = time.monotonic()

    def _release_waiters(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
