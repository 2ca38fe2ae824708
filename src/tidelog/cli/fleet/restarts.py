"""How long to wait before a broker that ended is started again: longer each time that it fails quickly."""

FIRST_S, LONGEST_S = 1.0, 30.0
STEADY_S = 30.0  # one that ran this long is not failing quickly


class Backoff:
    def __init__(self) -> None:
        self._next_s = FIRST_S

    def after(self, ran_s: float) -> float:
        """Seconds to wait, after it ran for so long."""
        if ran_s >= STEADY_S:
            self._next_s = FIRST_S
        wait_s = self._next_s
        self._next_s = min(LONGEST_S, self._next_s * 2)
        return wait_s
