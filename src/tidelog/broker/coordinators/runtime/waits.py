"""Requests that reach the right coordinator a moment too early: they wait until it serves.

The first group of a cluster finds `__consumer_offsets` just created: its logs are being opened. A client that
is told so comes back when it likes (librdkafka after three seconds). So requests that begin a conversation
wait here, for a while; others are answered at once, as they are by a coordinator that takes long to load.
"""

import asyncio
from collections.abc import Awaitable, Callable

from tidelog.broker.controller.metadata_service import MetadataService

LOADING_SECONDS = 5.0
UNKNOWN_SECONDS = 1.0
"""For a topic that another broker knows already, and this one does not know yet."""


class CoordinatorWaits:
    """Requests that wait for partitions of one topic to be served here."""

    def __init__(self, metadata: MetadataService, topic: str, is_served: Callable[[int], bool]) -> None:
        self._metadata = metadata
        self._topic = topic
        self._is_served = is_served
        self._waiting: dict[int, list[asyncio.Future[None]]] = {}
        self._closed = False

    def until_served(self, index: int) -> Awaitable[None] | None:
        """Returns None if there is nothing to wait for: this or another broker serves the partition."""
        if self._closed or self._is_served(index):
            return None
        image = self._metadata.image
        partition = image.partition(self._topic, index)
        if partition is None:
            # Without other brokers, no other could have told the client of this topic.
            return self._wait(index, UNKNOWN_SECONDS) if len(image.brokers) > 1 else None
        return self._wait(index, LOADING_SECONDS) if partition.leader == self._metadata.node_id else None

    def wake(self, index: int) -> None:
        """The partition is served now, or will not be."""
        for waiting in self._waiting.pop(index, ()):
            if not waiting.done():
                waiting.set_result(None)

    def close(self) -> None:
        self._closed = True
        for index in list(self._waiting):
            self.wake(index)

    async def _wait(self, index: int, seconds: float) -> None:
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(index, []).append(waiting)
        try:
            async with asyncio.timeout(seconds):
                await waiting
        except TimeoutError:
            pass
        finally:  # also when the client disconnects
            self._forget(index, waiting)

    def _forget(self, index: int, waiting: "asyncio.Future[None]") -> None:
        others = self._waiting.get(index)
        if others is not None and waiting in others:
            others.remove(waiting)
            if not others:
                del self._waiting[index]
