"""Work in Python beside the event loop: while it runs, threads hand over the interpreter after 0.2 ms.

A thread that computes keeps the interpreter's lock for the switch interval, 5 ms, and the loop asks for the
lock after each wait for sockets: a flood of such work would make each request 5 ms slower. Only Python's own
code hands the lock over so early; work in C, as the disk's, releases it or not, whatever the interval.
"""

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

ResultT = TypeVar("ResultT")

TURN_SECONDS = 0.0002


class _Turns:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0
        self._usual_seconds = 0.0

    def shorten(self) -> None:
        with self._lock:
            if not self._running:
                self._usual_seconds = sys.getswitchinterval()
                sys.setswitchinterval(min(TURN_SECONDS, self._usual_seconds))
            self._running += 1

    def give_back(self) -> None:
        with self._lock:
            self._running -= 1
            if not self._running:
                sys.setswitchinterval(self._usual_seconds)


_turns = _Turns()
"""The interval is the process's, and so is the count of what runs."""


def in_short_turns(work: Callable[[], ResultT]) -> ResultT:
    """Run `work` on this thread."""
    _turns.shorten()
    try:
        return work()
    finally:
        _turns.give_back()
