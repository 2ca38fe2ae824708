"""The parts of a broker that fill a page: each adds a collector once, and is asked at every scrape.

A collector is a generator: it yields every few hundred samples, so that a scrape of ten thousand partitions
never holds the event loop for long.
"""

import logging
from collections.abc import Callable, Iterator
from typing import TypeAlias

from tidelog.metrics.families.scrapes import COLLECTOR_ERRORS
from tidelog.metrics.page import Page

log = logging.getLogger("tidelog.metrics")

Collector: TypeAlias = Callable[[Page], Iterator[None]]


class Collectors:
    def __init__(self) -> None:
        self._collectors: dict[str, Collector] = {}
        self._errors: dict[str, int] = {}

    def add(self, name: str, collector: Collector) -> None:
        """A later collector of the same name takes the place of an earlier."""
        self._collectors[name] = collector

    def remove(self, name: str) -> None:
        self._collectors.pop(name, None)

    def fill(self, page: Page) -> Iterator[None]:
        """Asks every collector. One that fails leaves its samples out, and the others stay."""
        for name, collector in list(self._collectors.items()):
            try:
                yield from collector(page)
            except Exception:
                if name not in self._errors:  # one traceback is enough; the counter goes on
                    log.exception("the metrics of %s cannot be collected", name)
                self._errors[name] = self._errors.get(name, 0) + 1
            yield
        for name, count in self._errors.items():
            page.add(COLLECTOR_ERRORS, count, name)
        page.end()
