"""A fetch that waits for `min_bytes` to arrive, for a change of its partitions, or for its time-out."""

import asyncio
from collections.abc import Callable, Iterable

from tidelog.replication.partition import Partition
from tidelog.wire.messages.fetch import FetchResponse


class DelayedFetch:
    """Watches its partitions; until it completes, it only counts the bytes that arrive."""

    __slots__ = ("_answer", "_missing", "_missing_now", "_partitions", "_timer", "future")

    def __init__(
        self,
        partitions: Iterable[Partition],
        missing: int,
        wait_ms: int,
        answer: Callable[[], FetchResponse],
        missing_now: Callable[[], int] | None = None,
    ) -> None:
        """`missing_now` reads again how much is missing, for readers that may not read all that arrives."""
        loop = asyncio.get_running_loop()
        self.future: asyncio.Future[FetchResponse] = loop.create_future()
        self._answer = answer
        self._missing = missing
        self._missing_now = missing_now
        self._partitions = tuple(partitions)
        for partition in self._partitions:
            partition.watchers.add(self)
        self._timer = loop.call_later(wait_ms / 1000, self._complete)
        self.future.add_done_callback(self._clean_up)

    def on_bytes(self, count: int) -> None:
        self._missing -= count
        if count and self._missing <= 0 and self._missing_now is not None:
            self._missing = self._missing_now()
        if self._missing <= 0 or count == 0:
            self._complete()

    def _complete(self) -> None:
        if self.future.done():
            return
        try:
            self.future.set_result(self._answer())
        except Exception as error:
            self.future.set_exception(error)

    def _clean_up(self, _: "asyncio.Future[FetchResponse]") -> None:
        self._timer.cancel()
        for partition in self._partitions:
            partition.watchers.remove(self)
