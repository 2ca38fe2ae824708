"""The requests of one connection that are not answered yet, oldest first.

Requests may complete in any order; their answers leave in the order the requests came.
"""

from collections import deque
from collections.abc import Iterator

from tidelog.broker.requests.reply import PendingReply, Reply
from tidelog.server.connection.buffer_pool import POOLED_BYTES, BufferPool

Outcome = Reply | PendingReply


class Answers:
    __slots__ = ("_pool", "_queue", "bytes", "count")

    def __init__(self, pool: BufferPool) -> None:
        self._pool = pool
        self._queue: deque[tuple[Outcome, int, object]] = deque()
        self.count = 0
        self.bytes = 0  # of the request frames that are still in use

    def add(self, outcome: Outcome, frame: memoryview) -> None:
        size = len(frame)
        # The buffer below the view, since a view in our hands would keep it from being used again.
        self._queue.append((outcome, size, frame.obj if size >= POOLED_BYTES else None))
        self.bytes += size
        self.count += 1

    def take_ready(self) -> Iterator[Reply]:
        """The answers that may leave now. Raises, in its turn, what a request's future raised."""
        queue = self._queue
        while queue:
            outcome, size, buffer = queue[0]
            if isinstance(outcome, Reply):
                reply: Reply | None = outcome
            elif outcome.done():
                reply = outcome.result()
            else:
                return
            queue.popleft()
            self.bytes -= size
            self.count -= 1
            if buffer is not None:
                self._pool.give(buffer)
            if reply is not None:
                yield reply

    def cancel(self) -> None:
        """The client is gone: nobody waits for these any more."""
        queue, self._queue = self._queue, deque()
        self.bytes = self.count = 0
        for outcome, _, _ in queue:
            if not isinstance(outcome, Reply):
                outcome.cancel()
