"""Those who wait until everything below an offset is safe: produce requests with acks=all, coordinators."""

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
        """The one that is safe first comes first."""

    def add(self, committed_at: Offset, done: Done) -> None:
        # A retried batch may ask for less than what others wait for already: keep the queue in order.
        queue = self.queue
        place = len(queue)
        while place and queue[place - 1].committed_at > committed_at:
            place -= 1
        queue.insert(place, AcksWaiter(committed_at, done))

    def forget(self, done: Done) -> None:
        self.queue = deque(waiter for waiter in self.queue if waiter.done is not done)

    def resolve(self, high_watermark: Offset) -> None:
        """Tell all who wait for no more than this. One that is told may add another one meanwhile."""
        while self.queue and self.queue[0].committed_at <= high_watermark:
            self.queue.popleft().done(None)

    def fail_all(self, error: KafkaError) -> None:
        queue, self.queue = self.queue, deque()
        for waiter in queue:
            waiter.done(error)
