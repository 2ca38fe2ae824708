"""The requests of one API: how many, how large, and where their time went.

A request costs as little as possible here. Most are answered at once: their total is their local time, so one
observation stands for both. And a part that takes no time, as the wait for others does in most requests, is
not observed but known at the scrape: every request that was not observed took none.
"""

from collections.abc import Iterator

from tidelog.metrics.families.requests import (
    REQUEST_BYTES,
    REQUEST_PART_SECONDS,
    REQUEST_SECONDS,
    REQUESTS,
    RESPONSE_BYTES,
)
from tidelog.metrics.histogram import Histogram
from tidelog.metrics.page import Page

PARTS = ("queue", "local", "remote", "throttle", "send")


class ApiTimes:
    __slots__ = (
        "at_once",
        "local",
        "name",
        "queue",
        "remote",
        "request_bytes",
        "response_bytes",
        "send",
        "sending",
        "slow",
        "throttle",
        "total",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.at_once = Histogram()
        """Both the total and the local time of requests that waited for nothing."""
        self.total = Histogram()
        self.queue = Histogram()
        """Of a sample of the requests; all other parts are of all requests."""
        self.local = Histogram()
        self.remote = Histogram()
        self.throttle = Histogram()
        self.send = Histogram()
        self.sending = 0
        """Responses on their way, which are in no bucket until they arrive: buckets must never shrink."""
        self.request_bytes = 0
        self.response_bytes = 0
        self.slow = 0

    @property
    def requests(self) -> int:
        return self.at_once.count + self.total.count

    def collect(self, page: Page) -> Iterator[None]:
        requests, name = self.requests, self.name
        page.add(REQUESTS, requests, name)
        page.add(REQUEST_BYTES, self.request_bytes, name)
        page.add(RESPONSE_BYTES, self.response_bytes, name)
        page.add_histogram(REQUEST_SECONDS, _joined(self.at_once, self.total), name)
        for part in PARTS:
            page.add_histogram(REQUEST_PART_SECONDS, self._part(part, requests), name, part)
        yield

    def _part(self, part: str, requests: int) -> Histogram:
        times: Histogram = getattr(self, part)
        if part == "queue":
            return times
        if part == "local":
            return _joined(self.at_once, times)
        return _with_zeros(times, requests - self.sending if part == "send" else requests)


def _joined(first: Histogram, second: Histogram) -> Histogram:
    joined = Histogram(first.bounds)
    joined.counts = [a + b for a, b in zip(first.counts, second.counts, strict=True)]
    joined.sum = first.sum + second.sum
    return joined


def _with_zeros(times: Histogram, requests: int) -> Histogram:
    """Requests that were not observed took no time, so they belong to the first bucket."""
    shown = Histogram(times.bounds)
    shown.counts = list(times.counts)
    shown.counts[0] += max(0, requests - times.count)
    shown.sum = times.sum
    return shown
