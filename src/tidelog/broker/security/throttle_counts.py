"""How often quotas held clients back, and for how long: plain integers that metrics read."""

QUOTAS = ("produce", "fetch", "request", "mutation")


class ThrottleCounts:
    __slots__ = ("milliseconds", "requests")

    def __init__(self) -> None:
        self.requests = dict.fromkeys(QUOTAS, 0)
        self.milliseconds = dict.fromkeys(QUOTAS, 0)

    def add(self, quota: str, throttle_ms: int) -> None:
        self.requests[quota] += 1
        self.milliseconds[quota] += throttle_ms
