"""A thread that polls a consumer which only one thread may use, and runs what others ask for in between."""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


class PollingThread:
    def __init__(self, poll: Callable[[], None]) -> None:
        self._poll = poll
        self._asked: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._poll()
            while not self._asked.empty():
                work, answer = self._asked.get()
                try:
                    answer.set_result(work())
                except Exception as failure:
                    answer.set_exception(failure)

    def run(self, work: Callable[[], Any]) -> Any:
        answer: Future[Any] = Future()
        self._asked.put((work, answer))
        return answer.result(60)

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(60)
