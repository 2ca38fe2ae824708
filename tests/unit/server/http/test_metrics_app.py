"""`/metrics` without a socket: its two formats, gzip, and scrapes that are shared."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.rigs.asgi import ask
from tidelog.metrics.collectors import Collectors
from tidelog.metrics.families.scrapes import SCRAPE_SECONDS
from tidelog.metrics.family import counter, gauge
from tidelog.metrics.page import Page
from tidelog.server.http.metrics_app import ANSWERS_MAX, MetricsApp

SEEN = counter("seen_total", "Records seen.")
SIZE = gauge("size", "Size.", "topic")
OPEN_METRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"


class Source:
    """A collector that counts how often it is asked."""

    def __init__(self, steps: int = 1) -> None:
        self.asked = 0
        self._steps = steps

    def collect(self, page: Page) -> Iterator[None]:
        self.asked += 1
        for number in range(self._steps):
            page.add(SIZE, number, f"topic-{number}")
            yield
        page.add(SEEN, self.asked)


def app_of(source: Source) -> MetricsApp:
    collectors = Collectors()
    collectors.add("source", source.collect)
    return MetricsApp(collectors)


def test_prometheus_text_is_the_default() -> None:
    answer = asyncio.run(_ask_once(Source()))
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "# TYPE seen_total counter\nseen_total 1\n" in answer.text
    assert not answer.text.endswith("# EOF\n")


def test_open_metrics_if_the_client_accepts_it() -> None:
    answer = asyncio.run(_ask_once(Source(), accept=OPEN_METRICS))
    assert answer.headers["content-type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert "# TYPE seen counter\nseen_total 1\n" in answer.text
    assert answer.text.endswith("# EOF\n")


@pytest.mark.parametrize(
    ("accepted", "packed"),
    [
        ("gzip", True),
        ("deflate, gzip;q=0.5", True),
        ("gzip;q=0, identity", False),
        ("gzip; q=0.0", False),
        ("br", False),
        ("", False),
    ],
)
def test_gzip_if_the_client_accepts_it(accepted: str, packed: bool) -> None:
    answer = asyncio.run(_ask_once(Source(steps=100), accept_encoding=accepted))
    assert ("content-encoding" in answer.headers) is packed
    assert 'size{topic="topic-99"} 99' in answer.text


def test_clients_that_come_during_a_scrape_share_it() -> None:
    source = Source(steps=3000)

    async def at_once() -> list[str]:
        app = app_of(source)
        forms = [{}, {"accept": OPEN_METRICS}, {"accept_encoding": "gzip"}, {}]
        answers = await asyncio.gather(*(ask(app, **form) for form in forms[:ANSWERS_MAX]))
        return [answer.text for answer in answers]

    texts = asyncio.run(at_once())
    assert source.asked == 1
    assert texts[0] == texts[2] == texts[3]
    assert all('size{topic="topic-2999"} 2999' in text for text in texts)


def test_a_later_client_gets_a_new_scrape_which_counts_the_one_before() -> None:
    source = Source()

    async def twice() -> str:
        app = app_of(source)
        await ask(app)
        return (await ask(app)).text

    text = asyncio.run(twice())
    assert source.asked == 2
    assert f"{SCRAPE_SECONDS.name}_count 1" in text


def test_a_large_page_lets_the_loop_turn() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def both() -> None:
        other = asyncio.ensure_future(count())
        await ask(app_of(Source(steps=30_000)))
        other.cancel()

    asyncio.run(both())
    assert turns > 10


def test_a_host_that_does_not_read_leaves_room_for_others() -> None:
    async def life() -> str:
        app = app_of(Source())
        scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "client": ("198.51.100.1", 1)}

        async def receive() -> dict[str, object]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def never(event: object) -> None:
            await asyncio.Event().wait()

        deaf = [asyncio.ensure_future(app(dict(scope), receive, never)) for _ in range(2 * ANSWERS_MAX)]
        await asyncio.sleep(0.05)
        answer = await asyncio.wait_for(ask(app), 5)
        for task in deaf:
            task.cancel()
        await asyncio.gather(*deaf, return_exceptions=True)
        return answer.text

    assert "seen_total" in asyncio.run(life())


async def _ask_once(source: Source, **headers: str):  # type: ignore[no-untyped-def]
    return await ask(app_of(source), **headers)
