"""How long workers wait for a job, all together: a worker that gets a job keeps the others waiting."""


class IdleTime:
    def __init__(self, timeout_s: float | None, now: float) -> None:
        self._timeout_s = timeout_s
        self._busy_at = now

    def busy(self, now: float) -> None:
        """A worker gets a job, or is through with it."""
        self._busy_at = now

    def left(self, now: float) -> float | None:
        """0: it is over. None: there is no limit."""
        return None if self._timeout_s is None else max(0.0, self._busy_at + self._timeout_s - now)
