"""A full garbage collection visits every object, and the loop stops meanwhile: 150 ms with 5,000 logs.

So collections run early, while there are few objects to visit. Objects that survive a long one are frozen, as
modules and open logs may be: they are freed by their reference counts. Only cycles among them would stay;
partitions and logs are in none (`tidelog.base.weak`).
"""

import gc
import time
from collections.abc import Callable
from typing import Any

FULL = 2
LONG_SECONDS = 0.003
THRESHOLDS = (700, 10, 2)
"""A full collection after some 20,000 new objects that stay, not the 80,000 of Python's defaults."""


class ShortCollections:
    """From `begin` to `end`, in a process that is a broker and nothing else."""

    def __init__(self, clock: Callable[[], float] = time.thread_time) -> None:
        self._clock = clock
        self._began = 0.0
        self._thresholds = gc.get_threshold()

    def begin(self) -> None:
        """Once everything is loaded."""
        gc.collect()
        gc.freeze()
        gc.collect()  # or the collector would wait until a quarter as many objects have been added
        gc.set_threshold(*THRESHOLDS)
        gc.callbacks.append(self._on_collection)

    def end(self) -> None:
        gc.callbacks.remove(self._on_collection)
        gc.set_threshold(*self._thresholds)
        gc.unfreeze()

    def _on_collection(self, phase: str, info: dict[str, Any]) -> None:
        if info["generation"] != FULL:
            return
        if phase == "start":
            self._began = self._clock()
        elif self._clock() - self._began > LONG_SECONDS:
            gc.freeze()
