"""A token bucket: a rate with a burst, for changes that the controller makes (KIP-599)."""

from tidelog.security.quotas.rate import PAUSE_MS_MAX


class TokenBucket:
    """Tokens may run into debt: a request that is begun is carried out whole, and the next one waits."""

    __slots__ = ("_filled_ms", "_tokens")

    def __init__(self, now_ms: int, *, burst: float) -> None:
        self._tokens = burst
        self._filled_ms = now_ms

    def throttle_ms(self, rate: float, burst: float, now_ms: int) -> int:
        """Returns the time until the debt is paid, `PAUSE_MS_MAX` at most; 0 if there is none."""
        self._fill(rate, burst, now_ms)
        if self._tokens >= 0:
            return 0
        if rate <= 0:
            return 60_000
        return max(1, round(min(PAUSE_MS_MAX, -self._tokens / rate * 1000)))

    def take(self, amount: float, rate: float, burst: float, now_ms: int) -> None:
        self._fill(rate, burst, now_ms)
        self._tokens -= amount

    def is_full(self, rate: float, burst: float, now_ms: int) -> bool:
        """Returns whether it is as good as new, so that it can be forgotten."""
        self._fill(rate, burst, now_ms)
        return self._tokens >= burst

    def _fill(self, rate: float, burst: float, now_ms: int) -> None:
        elapsed = max(0, now_ms - self._filled_ms)
        self._tokens = min(burst, self._tokens + elapsed * rate / 1000)
        self._filled_ms = now_ms
