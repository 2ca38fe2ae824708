"""How fast something goes, over Kafka's sliding windows, and how long to wait so that it is not too fast.

The rate is the sum of the last `windows` windows, divided by the time that they cover. An idle client may use
at once what it saved over the whole span: that is the burst.
"""


class SlidingRate:
    __slots__ = ("_sums", "_window_ms", "_windows", "last_used_ms")

    def __init__(self, now_ms: int, *, windows: int, window_ms: int) -> None:
        self._windows = windows
        self._window_ms = window_ms
        self._sums: list[tuple[int, float]] = []  # the start of each window, oldest first
        self.last_used_ms = now_ms

    def record(self, amount: float, now_ms: int) -> None:
        self.last_used_ms = now_ms
        sums = self._sums
        if sums and now_ms - sums[-1][0] < self._window_ms:
            start, total = sums[-1]
            sums[-1] = (start, total + amount)
            return
        self._forget(now_ms)
        sums.append((now_ms, amount))

    def per_second(self, now_ms: int) -> float:
        return self._total(now_ms) / self._covered_ms(now_ms) * 1000

    def throttle_ms(self, limit: float, now_ms: int) -> int:
        """The time after which the rate is at the limit if nothing comes meanwhile; 0 if it is not above."""
        rate = self.per_second(now_ms)
        if rate <= limit:
            return 0
        if limit <= 0:
            return self._windows * self._window_ms
        return round((rate - limit) / limit * self._covered_ms(now_ms))

    def _total(self, now_ms: int) -> float:
        self._forget(now_ms)
        return sum(total for _, total in self._sums)

    def _covered_ms(self, now_ms: int) -> int:
        """At least all windows but the current one, so that a first request is not taken for a flood."""
        elapsed = now_ms - self._sums[0][0] if self._sums else 0
        return max(elapsed, (self._windows - 1) * self._window_ms)

    def _forget(self, now_ms: int) -> None:
        oldest = now_ms - self._windows * self._window_ms
        sums = self._sums
        while sums and sums[0][0] <= oldest:
            del sums[0]
