"""Serves librdkafka's callbacks: in the sender while it is busy, in a thread otherwise.

Each callback takes Python's lock. A thread that served them beside a busy sender would fight with it for
that lock at every record, at a multiple of the cost; a sender alone would leave futures open once it stops
sending.
"""

import sys
import threading
from collections.abc import Callable

from tidelog.clients.log import LOG

SERVE_S = 0.1  # also how long a close may wait for the thread
SENDS_PER_SERVE = 64
STEP_ASIDE_S = 0.005


class CallbackService:
    def __init__(self, poll: Callable[[float], int], name: str) -> None:
        self._poll = poll
        self._sends = 0
        self._is_served_by_sender = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def sent(self) -> None:
        """Called after each record; now and then it serves what has come back."""
        self._sends += 1
        # Not from within a callback that sends: that would serve callbacks within callbacks.
        if self._sends % SENDS_PER_SERVE == 0 and self._is_served_by_sender.acquire(blocking=False):
            try:
                self._serve(0)
            finally:
                self._is_served_by_sender.release()

    def _run(self) -> None:
        seen = 0
        while not self._stopped.is_set():
            before, seen = seen, self._sends
            if seen - before >= SENDS_PER_SERVE:
                self._stopped.wait(STEP_ASIDE_S)
            else:
                self._serve(SERVE_S)

    def _serve(self, timeout_s: float) -> None:
        try:
            self._poll(timeout_s)
        except Exception:  # a callback from `extra` raised; the deliveries of others must go on
            LOG.exception("a callback of librdkafka raised")

    def stop(self) -> None:
        self._stopped.set()
        # While the interpreter ends, threads stand still: waiting for one would never end.
        if threading.current_thread() is not self._thread and not sys.is_finalizing():
            self._thread.join()
