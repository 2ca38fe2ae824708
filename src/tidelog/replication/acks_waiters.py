"""Callbacks that wait until everything below an offset is committed: produces with acks=all, coordinators."""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from tidelog.base.errors import KafkaError
from tidelog.base.ids import Offset

Done: TypeAlias = Callable[[KafkaError | None], None]


class AcksWaiter(NamedTuple):
    committed_at: Offset
    done: Done


class AcksWaiters:
    __slots__ = ("queue",)

    def __init__(self) -> None:
        self.queue: deque[AcksWaiter] = deque()
        """The lowest offset comes first."""

    def add(self, committed_at: Offset, done: Done) -> None:
        # A retried batch may wait for less than the batches before it: keep the queue in order.
        queue = self.queue
        place = len(queue)
        while place and queue[place - 1].committed_at > committed_at:
            place -= 1
        queue.insert(place, AcksWaiter(committed_at, done))

    def forget(self, done: Done) -> None:
        self.queue = deque(waiter for waiter in self.queue if waiter.done is not done)

    def resolve(self, end: Offset) -> None:
        """Call every waiter for an offset up to `end`. A callback may add another waiter meanwhile."""
        while self.queue and self.queue[0].committed_at <= end:
            self.queue.popleft().done(None)

    def fail_all(self, error: KafkaError) -> None:
        queue, self.queue = self.queue, deque()
        for waiter in queue:
            waiter.done(error)
