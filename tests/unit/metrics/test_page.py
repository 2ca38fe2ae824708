"""A page of metrics: samples as text, histograms, escapes, and the limit of series."""

import math
from collections.abc import Iterator

import pytest

from tidelog.metrics.collectors import Collectors
from tidelog.metrics.families.scrapes import SERIES_LEFT_OUT
from tidelog.metrics.family import counter, gauge, histogram
from tidelog.metrics.histogram import Histogram
from tidelog.metrics.page import Page
from tidelog.metrics.text_format import text_of

LAG = gauge("lag", "How far\nbehind.", "group", "topic")
SEEN = counter("seen_total", 'Records "seen".')
TIME = histogram("time_seconds", "Time.", "api", bounds=(0.1, 1.0))


def text(page: Page, *, open_metrics: bool = False) -> str:
    return "".join(text_of(page, open_metrics=open_metrics))


def test_a_sample_has_its_labels_in_order_and_escaped() -> None:
    page = Page()
    page.add(LAG, 7, 'a"b', "c\\d\ne")
    assert text(page) == (
        "# HELP lag How far\\nbehind.\n# TYPE lag gauge\n" + r'lag{group="a\"b",topic="c\\d\ne"} 7' + "\n"
    )


def test_a_counter_in_both_formats() -> None:
    page = Page()
    page.add(SEEN, 3)
    assert text(page) == '# HELP seen_total Records "seen".\n# TYPE seen_total counter\nseen_total 3\n'
    assert text(page, open_metrics=True) == (
        "# HELP seen Records " + r"\"seen\"" + ".\n# TYPE seen counter\nseen_total 3\n# EOF\n"
    )


def test_a_histogram_is_cumulative() -> None:
    times = Histogram(TIME.bounds)
    for seconds in (0.1, 0.5, 0.6, 5.0):
        times.observe(seconds)
    page = Page()
    page.add_histogram(TIME, times, "Fetch")
    assert page.lines[TIME] == [
        'time_seconds_bucket{api="Fetch",le="0.1"} 1',
        'time_seconds_bucket{api="Fetch",le="1.0"} 3',
        'time_seconds_bucket{api="Fetch",le="+Inf"} 4',
        'time_seconds_count{api="Fetch"} 4',
        'time_seconds_sum{api="Fetch"} 6.2',
    ]
    assert times.count == 4


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (1.5, "1.5"),
        (10**15, "1000000000000000"),
        (True, "1"),
        (math.inf, "+Inf"),
        (-math.inf, "-Inf"),
        (math.nan, "NaN"),
    ],
)
def test_values_are_written_as_prometheus_reads_them(value: float, written: str) -> None:
    page = Page()
    page.add(SEEN, value)
    assert page.lines[SEEN] == [f"seen_total {written}"]


def test_a_sample_with_too_few_or_too_many_labels_is_a_fault() -> None:
    with pytest.raises(ValueError, match="zip"):
        Page().add(LAG, 1, "g")
    with pytest.raises(ValueError, match="zip"):
        Page().add(SEEN, 1, "g")


def test_series_beyond_the_limit_are_counted() -> None:
    page = Page(series_max=2)
    for group in range(5):
        page.add(LAG, 1, group, "t")
    page.add_histogram(TIME, Histogram(TIME.bounds), "Fetch")
    page.end()
    assert len(page.lines[LAG]) == 2
    assert TIME not in page.lines
    assert page.lines[SERIES_LEFT_OUT] == ["tidelog_metrics_series_left_out 8"]


def test_a_collector_that_fails_leaves_the_others(caplog: pytest.LogCaptureFixture) -> None:
    def broken(page: Page) -> Iterator[None]:
        yield
        raise RuntimeError("no such partition")

    def whole(page: Page) -> Iterator[None]:
        page.add(SEEN, 1)
        yield

    collectors = Collectors()
    collectors.add("logs", broken)
    collectors.add("requests", whole)
    for _ in range(2):
        page = Page()
        turns = sum(1 for _ in collectors.fill(page))
        assert turns == 4
    assert 'tidelog_metrics_collector_errors_total{collector="logs"} 2' in text(page)
    assert "seen_total 1" in text(page)
    assert caplog.text.count("the metrics of logs cannot be collected") == 1


def test_rows_share_the_text_of_their_labels_and_keep_the_limit() -> None:
    page = Page(series_max=2)
    rows = [(page.braces(LAG, group, "t"), group / 2) for group in range(3)]
    page.add_rows(LAG, rows)
    assert page.lines[LAG] == ['lag{group="0",topic="t"} 0.0', 'lag{group="1",topic="t"} 0.5']
    assert page.left_out == 1
