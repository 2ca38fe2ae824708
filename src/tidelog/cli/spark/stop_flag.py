"""Stop signals of commands that run Spark: the first lets the current batch end, the second stops at once."""

import os
import signal
import time
from types import FrameType

from tidelog.cli.stop_signals import StopSignal, StopSignals


class StopFlag:
    """`is_set` from the first stop signal on."""

    def __init__(self) -> None:
        self.is_set = False
        self._signals = StopSignals()

    def listen(self) -> None:
        """Call it again once Spark has started: Spark installs handlers of its own."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        match self._signals.receive(time.monotonic()):
            case StopSignal.SECOND:
                os._exit(128 + number)  # Spark's JVM ends with this process; the checkpoint is made for that
            case StopSignal.FIRST:
                self.is_set = True
                os.write(2, b"\nStopping after the current batch. Press Ctrl-C again to stop at once.\n")
            case _:
                pass
