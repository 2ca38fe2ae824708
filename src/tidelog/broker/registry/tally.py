"""What has happened at this broker's port of the registry, for its metrics."""

from collections import Counter, defaultdict

from tidelog.metrics.histogram import Histogram


class CallTally:
    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()
        """By method and class of the status: ("GET", "2xx")."""
        self.seconds: defaultdict[str, Histogram] = defaultdict(Histogram)
        """By method."""

    def note(self, method: str, status: int, seconds: float) -> None:
        self.calls[method, f"{status // 100}xx"] += 1
        self.seconds[method].observe(seconds)
