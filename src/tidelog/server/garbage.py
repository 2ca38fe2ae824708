"""Full garbage collections look at every object there is, and the loop stands still meanwhile: 150 ms with
5,000 logs.

So they come early, while there is little to look at. What has survived one that took long is not looked at
again, as modules and open logs need not be: such objects are freed by their reference counts when they go.
Only cycles among them would stay, and logs are in none.
"""

import gc
import time
from collections.abc import Callable
from typing import Any

FULL = 2
LONG_SECONDS = 0.003
THRESHOLDS = (700, 10, 2)
"""A full collection after some 20,000 objects that stay, rather than the 80,000 of Python's defaults."""


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
        gc.collect()  # or the collector would wait for a quarter of what there was to come again
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
