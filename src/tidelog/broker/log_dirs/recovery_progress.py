"""The progress of a start: logs are opened, and checked after an unclean shutdown.

Health and metrics read it.
"""

from dataclasses import dataclass


@dataclass(slots=True)
class RecoveryProgress:
    logs: int
    checked_logs: int = 0
    scanned_bytes: int = 0

    def text(self) -> str:
        return (
            f"checking logs after an unclean shutdown: {self.checked_logs} of {self.logs}, "
            f"{self.scanned_bytes / 1e6:.1f} MB so far"
        )


@dataclass(slots=True)
class StartProgress:
    """Of all logs, whether they have to be checked or not; it stays as it was at the end of the start."""

    logs: int = 0
    opened_logs: int = 0
    _began: float | None = None
    _ended: float | None = None

    def begin(self, logs: int, now: float) -> None:
        self.logs, self._began = logs, now

    def note_opened(self) -> None:
        if self._began is not None and self._ended is None:
            self.opened_logs += 1

    def end(self, now: float) -> None:
        self._ended = now

    def seconds(self, now: float) -> float:
        if self._began is None:
            return 0.0
        return (now if self._ended is None else self._ended) - self._began
