"""Metrics of requests, by API: what `MeasuredDispatcher` observes, and error codes as they are encoded."""

from collections import Counter
from collections.abc import Callable, Iterator
from time import perf_counter

from tidelog.base.errors import ErrorCode
from tidelog.broker.metrics.api_times import ApiTimes
from tidelog.broker.metrics.response_errors import Write, counting_errors
from tidelog.broker.metrics.slow_requests import SlowRequest, is_slow
from tidelog.metrics.families.requests import REQUEST_ERRORS, REQUESTS_IN_FLIGHT, SLOW_REQUESTS
from tidelog.metrics.page import Page
from tidelog.wire.apis import API
from tidelog.wire.message import Message

NO_API, NO_KEY = "none", -1
"""For frames that are no Kafka requests: bare SASL tokens."""


class RequestMetrics:
    def __init__(self) -> None:
        self._times: dict[int, ApiTimes] = {}
        self._errors: Counter[tuple[int, int]] = Counter()
        self.in_flight = 0
        """Requests that wait for their answer."""
        self.slow_seconds = float("inf")
        """From this total on a request is slow: the least that a watch asks for."""
        self._slow_watches: list[tuple[float, Callable[[SlowRequest], None]]] = []
        self.counted_seconds = float("inf")
        """From this total on a slow request is counted."""
        self.trace_of: Callable[[memoryview], str] | None = None
        """Finds the trace context of a produce request; None without traces."""
        self.replied = self.of(NO_KEY)
        """The API of the newest reply."""

    def of(self, api_key: int) -> ApiTimes:
        times = self._times.get(api_key)
        if times is None:
            spec = API.get(api_key)
            if spec is None:
                return self._times.setdefault(NO_KEY, ApiTimes(NO_API))
            times = self._times[api_key] = ApiTimes(spec.name)
        return times

    def count_error(self, api_key: int, code: int) -> None:
        self._errors[api_key, code] += 1

    def counting(self, api_key: int, response_class: type[Message], write: Write) -> Write:
        """Returns `write`, which encodes responses, with a look at their error codes before."""

        def count(codes: set[int]) -> None:
            for code in codes:
                self._errors[api_key, code] += 1

        return counting_errors(response_class, write, count)

    def watch_slow(self, seconds: float, watch: Callable[[SlowRequest], None]) -> None:
        """Calls `watch` with every request that takes so long."""
        self._slow_watches.append((seconds, watch))
        self.slow_seconds = min(self.slow_seconds, seconds)

    def slow(self, request: SlowRequest, times: ApiTimes) -> None:
        if is_slow(request, self.counted_seconds):
            times.slow += 1
        for seconds, watch in self._slow_watches:
            if is_slow(request, seconds):
                watch(request)

    def send_begins(self) -> tuple[ApiTimes, float]:
        """The kernel does not take the whole newest reply. Returns what `send_ends` wants back."""
        self.replied.sending += 1
        return self.replied, perf_counter()

    def send_ends(self, begun: tuple[ApiTimes, float]) -> None:
        times, since = begun
        times.sending -= 1
        times.send.observe(perf_counter() - since)

    def collect(self, page: Page) -> Iterator[None]:
        page.add(REQUESTS_IN_FLIGHT, self.in_flight)
        for times in list(self._times.values()):
            if not times.requests:
                continue
            yield from times.collect(page)
            page.add(SLOW_REQUESTS, times.slow, times.name)
        for (api_key, code), count in list(self._errors.items()):
            page.add(REQUEST_ERRORS, count, API[api_key].name, ErrorCode.of(code).name)
