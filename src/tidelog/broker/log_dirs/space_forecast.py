"""Predicts when a log dir has used its free space up, from the free space of the last minutes. Pure."""

from collections import deque

SAMPLE_SECONDS = 10.0
WINDOW_SECONDS = 600.0
SPAN_SECONDS_MIN = 120.0
"""Less says nothing: a single segment that is deleted, or rolled, would count for hours."""


class SpaceForecast:
    """At most one sample each ten seconds of ten minutes."""

    __slots__ = ("_samples",)

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque()

    def add(self, now: float, free_bytes: int) -> None:
        samples = self._samples
        if samples and now - samples[-1][0] < SAMPLE_SECONDS:
            return
        samples.append((now, free_bytes))
        while now - samples[0][0] > WINDOW_SECONDS:
            samples.popleft()

    def growth(self, now: float, free_bytes: int) -> float:
        """Returns the bytes that are used up a second; below 0 where space becomes free."""
        if not self._samples or now - self._samples[0][0] < SPAN_SECONDS_MIN:
            return 0.0
        began, free_then = self._samples[0]
        return (free_then - free_bytes) / (now - began)

    def seconds_until(self, now: float, free_bytes: int, limit_bytes: int) -> float | None:
        """Returns the time until only `limit_bytes` are free; None where the free space does not shrink."""
        growth = self.growth(now, free_bytes)
        return None if growth <= 0 else max(0.0, (free_bytes - limit_bytes) / growth)
