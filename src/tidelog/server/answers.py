"""The requests of one connection that are not answered yet, oldest first.

Requests may complete in any order; their answers leave in the order the requests came.
"""

import asyncio
from collections import deque
from collections.abc import Iterator

from tidelog.broker.reply import Reply

Outcome = Reply | asyncio.Future[Reply | None]


class Answers:
    __slots__ = ("_queue", "bytes")

    def __init__(self) -> None:
        self._queue: deque[tuple[Outcome, int]] = deque()
        self.bytes = 0  # of the request frames that are still in use

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, outcome: Outcome, frame_bytes: int) -> None:
        self._queue.append((outcome, frame_bytes))
        self.bytes += frame_bytes

    def take_ready(self) -> Iterator[Reply]:
        """The answers that may leave now. Raises, in its turn, what a request's future raised."""
        queue = self._queue
        while queue:
            outcome, frame_bytes = queue[0]
            if isinstance(outcome, Reply):
                reply: Reply | None = outcome
            elif outcome.done():
                reply = outcome.result()
            else:
                return
            queue.popleft()
            self.bytes -= frame_bytes
            if reply is not None:
                yield reply

    def cancel(self) -> None:
        """The peer is gone: nobody waits for these any more."""
        queue, self._queue = self._queue, deque()
        self.bytes = 0
        for outcome, _ in queue:
            if not isinstance(outcome, Reply):
                outcome.cancel()
