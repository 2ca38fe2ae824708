"""The requests of one connection that are not answered yet, oldest first.

Requests may complete in any order; their responses leave in the order the requests came. A request that may
not overlap with those before it is put off until they are answered (`broker/requests/request_order.py`).
"""

from collections import deque
from collections.abc import Iterator

from tidelog.broker.requests.reply import PendingReply, Reply
from tidelog.server.connection.buffer_pool import POOLED_BYTES, BufferPool


class InFlight:
    __slots__ = ("_pool", "_queue", "bytes", "count", "overlap_group", "put_off")

    def __init__(self, pool: BufferPool) -> None:
        self._pool = pool
        self._queue: deque[tuple[Reply | PendingReply, int, object]] = deque()
        self.count = 0
        self.bytes = 0  # of the request frames that are still in use
        self.overlap_group = 0  # of the newest request, which lets no other begin if it is 0
        self.put_off: memoryview | None = None  # the next request, which waits for all before it

    @property
    def memory_bytes(self) -> int:
        return self.bytes if self.put_off is None else self.bytes + len(self.put_off)

    def must_wait(self, overlap_group: int) -> bool:
        """While requests are under way: whether one of this group begins only when they are answered."""
        return not overlap_group or overlap_group != self.overlap_group

    def add(self, reply: Reply | PendingReply, frame: memoryview) -> None:
        size = len(frame)
        # The buffer below the view: a view kept here would prevent the pool from using the buffer again.
        self._queue.append((reply, size, frame.obj if size >= POOLED_BYTES else None))
        self.bytes += size
        self.count += 1

    def take_ready(self) -> Iterator[Reply]:
        """Yields the replies that may leave now. Raises, in its turn, what a request's future raised."""
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
        """The connection is closed: its requests are answered no more."""
        queue, self._queue = self._queue, deque()
        self.bytes = self.count = 0
        self.put_off = None
        for outcome, _, _ in queue:
            if not isinstance(outcome, Reply):
                outcome.cancel()
