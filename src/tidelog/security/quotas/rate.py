"""The rate over Kafka's sliding windows, and how long to pause so that it is within a limit again.

The rate is the sum of the last `windows` windows, divided by the time that they cover. An idle client may use
at once what it saved over all windows but one: that is the burst.
"""

PAUSE_MS_MAX = 3_600_000
"""However small the limit: a response has 32 bits for the pause, and the excess is forgotten long before."""


class SlidingRate:
    __slots__ = ("__weakref__", "_burst_ms", "_starts", "_sums", "_total", "_window_ms", "_windows")

    def __init__(self, *, windows: int, window_ms: int) -> None:
        self._windows = windows
        self._window_ms = window_ms
        self._burst_ms = (windows - 1) * window_ms
        self._starts: list[int] = []  # of each window, oldest first
        self._sums: list[float] = []
        self._total = 0.0

    def record(self, amount: float, now_ms: int) -> None:
        """A negative amount takes back what was recorded just before."""
        starts = self._starts
        if starts and now_ms - starts[-1] < self._window_ms:
            self._sums[-1] += amount
        else:
            self._forget(now_ms)
            starts.append(now_ms)
            self._sums.append(amount)
        self._total += amount

    def charge(self, amount: float, limit: float, now_ms: int) -> int:
        """Record the amount and return the pause, as `throttle_ms` does; in one call, for the hot path."""
        starts = self._starts
        if starts and now_ms - starts[-1] < self._window_ms:
            self._sums[-1] += amount
            self._total += amount
        else:
            self.record(amount, now_ms)
        if self._total * 1000 <= limit * self._burst_ms:
            return 0  # whatever may be forgotten: the usual case
        return self.throttle_ms(limit, now_ms)

    def total(self, now_ms: int) -> float:
        """Returns the sum of the windows that count."""
        self._forget(now_ms)
        return self._total

    def per_second(self, now_ms: int) -> float:
        return self.total(now_ms) / max(1, self._covered_ms(now_ms)) * 1000

    def throttle_ms(self, limit: float, now_ms: int) -> int:
        """Returns the time after which the rate is at the limit if nothing comes meanwhile, `PAUSE_MS_MAX` at
        most; 0 if it is not above."""
        total = self.total(now_ms)
        covered = self._covered_ms(now_ms)
        if total * 1000 <= limit * covered:
            return 0
        if limit <= 0:
            return self._windows * self._window_ms
        # A pause that is rounded to nothing would be none at all.
        return min(PAUSE_MS_MAX, max(1, round(total * 1000 / limit - covered)))

    def _covered_ms(self, now_ms: int) -> int:
        """All windows but the current one count as full, so that a first request is not taken for a flood."""
        elapsed = now_ms - self._starts[0] if self._starts else 0
        missing = self._windows - 1 - elapsed // self._window_ms
        return elapsed + max(0, missing) * self._window_ms

    def _forget(self, now_ms: int) -> None:
        starts = self._starts
        oldest = now_ms - self._windows * self._window_ms
        if not starts or starts[0] > oldest:
            return
        count = sum(start <= oldest for start in starts)
        del starts[:count], self._sums[:count]
        self._total = sum(self._sums)  # anew, so that rounding errors do not add up
