"""`/metrics`: a page of metrics, in Prometheus' text format or OpenMetrics as the client prefers.

Clients that come while a scrape collects share it: two Prometheus servers cost little more than one. Few
answers are in memory at a time, and further clients wait for one of them to be sent. One host never has all
of them: its clients that do not read would keep every other host waiting.
"""

import asyncio
import re
from collections.abc import Iterator
from weakref import WeakValueDictionary

from tidelog.metrics.collectors import Collectors
from tidelog.metrics.families.scrapes import SCRAPE_SECONDS
from tidelog.metrics.histogram import Histogram
from tidelog.metrics.page import Page
from tidelog.metrics.text_format import OPEN_METRICS, PROMETHEUS, is_open_metrics
from tidelog.server.http.asgi import Receive, Scope, Send, begin, header
from tidelog.server.http.scrape import Form, Scrape

ANSWERS_MAX, ANSWERS_PER_HOST_MAX = 4, 3
_GZIP = re.compile(r"\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))")


class MetricsApp:
    def __init__(self, collectors: Collectors) -> None:
        self._collectors = collectors
        self._scrape: Scrape | None = None
        self._seconds = Histogram(SCRAPE_SECONDS.bounds)
        self._answers = asyncio.Semaphore(ANSWERS_MAX)
        self._answers_of_host: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        collectors.add("scrapes", self._collect)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        open_metrics = is_open_metrics(header(scope, b"accept"))
        gzip = _GZIP.search(header(scope, b"accept-encoding")) is not None
        host, _ = scope["client"] or ("", 0)
        answers_here = self._answers_of_host.get(host) or asyncio.Semaphore(ANSWERS_PER_HOST_MAX)
        self._answers_of_host[host] = answers_here
        async with answers_here, self._answers:
            scrape = self._current()
            pieces = await scrape.text(Form(open_metrics, gzip))
            self._end(scrape)
            length = sum(map(len, pieces))
            content_type = OPEN_METRICS if open_metrics else PROMETHEUS
            more = [(b"content-encoding", b"gzip")] if gzip else []
            await begin(send, 200, length, content_type, [(b"vary", b"accept, accept-encoding"), *more])
            for piece in pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})

    def _current(self) -> Scrape:
        """The scrape that collects now, or a new one."""
        if self._scrape is None or not self._scrape.is_collecting:
            self._scrape = Scrape(self._collectors)
        return self._scrape

    def _end(self, scrape: Scrape) -> None:
        """Nothing of it stays in memory until the next."""
        if scrape is self._scrape:
            self._scrape = None
            self._seconds.observe(scrape.cpu_seconds)

    def _collect(self, page: Page) -> Iterator[None]:
        page.add_histogram(SCRAPE_SECONDS, self._seconds)
        yield
