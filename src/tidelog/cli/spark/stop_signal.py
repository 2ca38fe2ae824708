"""Ctrl-C and its like for commands that run Spark: the first lets the batch under way end, the next not."""

import os
import signal
import time
from types import FrameType

from tidelog.cli.second_signal import Asked, Insistence


class StopWish:
    """`is_there` once somebody has asked."""

    def __init__(self) -> None:
        self.is_there = False
        self._insistence = Insistence()

    def listen(self) -> None:
        """Again after Spark has started: it puts handlers of its own in their place."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        match self._insistence.asked(time.monotonic()):
            case Asked.AGAIN:
                os._exit(128 + number)  # Spark's JVM ends with this process; the checkpoint is made for that
            case Asked.FIRST:
                self.is_there = True
                os.write(2, b"\nStopping after the batch under way. Ctrl-C again stops at once.\n")
            case _:
                pass
