"""A scrape without HTTP: the collectors of a running broker fill a page, and a test reads the samples."""

import asyncio
import re
from collections.abc import Callable
from typing import TypeVar

from tidelog.broker.requests.context import Services
from tidelog.metrics.collectors import Collectors
from tidelog.metrics.page import Page
from tidelog.testing.broker import Broker

T = TypeVar("T")

_SAMPLE = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Scraped:
    def __init__(self, page: Page) -> None:
        self.page = page
        self.samples: dict[str, list[tuple[dict[str, str], float]]] = {}
        for lines in page.lines.values():
            for line in lines:
                found = _SAMPLE.fullmatch(line)
                assert found is not None, line
                labels = dict(_LABEL.findall(found[2] or ""))
                self.samples.setdefault(found[1], []).append((labels, float(found[3])))

    @property
    def families(self) -> set[str]:
        return {family.name for family, lines in self.page.lines.items() if lines}

    def value(self, name: str, **labels: object) -> float:
        [value] = self.values(name, **labels)
        return value

    def values(self, name: str, **labels: object) -> list[float]:
        wanted = {name: str(value) for name, value in labels.items()}.items()
        return [value for found, value in self.samples.get(name, []) if wanted <= found.items()]

    def total(self, name: str, **labels: object) -> float:
        return sum(self.values(name, **labels))


def filled(collectors: Collectors) -> Scraped:
    page = Page()
    for _ in collectors.fill(page):
        pass
    return Scraped(page)


def on_loop(broker: Broker, work: Callable[[], T]) -> T:
    """Runs the work on the broker's own thread, as a scrape would."""
    life = broker._running()
    assert life._loop is not None

    async def job() -> T:
        return work()

    return asyncio.run_coroutine_threadsafe(job(), life._loop).result(30)


def services_of(broker: Broker) -> Services:
    return broker._running().node.services


def scrape(broker: Broker) -> Scraped:
    return on_loop(broker, lambda: filled(services_of(broker).collectors))
