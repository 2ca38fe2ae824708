"""The memory that one connection holds, counted in the budget that all connections share."""

from tidelog.server.connection.memory_budget import MemoryBudget, Waiter
from tidelog.server.connection.receive_buffer import ReceiveBuffer
from tidelog.server.counters import Counters


class MemoryClaim:
    __slots__ = ("_budget", "_counters", "_held", "in_line", "promised")

    def __init__(self, budget: MemoryBudget, counters: Counters) -> None:
        self._budget = budget
        self._counters = counters
        self._held = 0  # bytes counted in the budget
        self.promised = 0  # what the frame under way may take: counted before it is used
        self.in_line = False  # the frame under way waits for memory

    def make_room(self, waiter: Waiter, receive: ReceiveBuffer, now: float) -> bool:
        """Returns whether the connection may read on; False puts the waiter in line for memory."""
        budget = self._budget
        if not receive.room_wanted(short=budget.exhausted):
            if self.in_line:  # others gave enough back meanwhile
                self.in_line = False
                budget.leave_line(waiter)
            return True
        if self.in_line:
            return False
        if not self.promised:
            claim = min(receive.frame_room, budget.limit)
            if not budget.take(waiter, claim, receive.frame_size, now):
                self.in_line = True
                self._counters.memory_stalls += 1
                return False
            self.promised = claim
            self._held += claim
        receive.grow()
        return True

    def granted(self, count: int) -> None:
        """The wait in line is over; the budget has counted the bytes already."""
        self.in_line = False
        self.promised = count
        self._held += count

    def frame_arrived(self, waiter: Waiter) -> None:
        """The frame that claimed memory, or waits for it, is complete."""
        self.promised = 0
        self.in_line = False
        self._budget.frame_arrived(waiter)

    def count(self, received: int, other: int) -> None:
        """Report what is held now: bytes of the frame under way, and all others."""
        held = max(received, self.promised) + other
        if held != self._held:
            more, self._held = held - self._held, held
            self._budget.change(more)

    def release(self, waiter: Waiter) -> None:
        """The connection is closed: give everything back."""
        self._budget.forget(waiter)
        held, self._held = self._held, 0
        self._budget.change(-held)
