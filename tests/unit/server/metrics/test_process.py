"""Metrics of the process and its loop."""

import gc
import os
import resource
import time
from collections.abc import Callable
from typing import Any

import pytest

from tidelog.metrics.collectors import Collector
from tidelog.metrics.families.process import (
    GC_SECONDS,
    LOOP_LAG_SECONDS,
    MAX_FILES,
    OPEN_FILES,
    RESIDENT_BYTES,
    START_TIME,
)
from tidelog.metrics.family import Family
from tidelog.metrics.page import Page
from tidelog.server.metrics import process
from tidelog.server.metrics.gc_pauses import GcPauses
from tidelog.server.metrics.loop_lag import INTERVAL_SECONDS, LoopLag


def page_of(collector: Collector) -> Page:
    page = Page()
    for _ in collector(page):
        pass
    return page


def value(page: Page, family: Family) -> float:
    [line] = page.lines[family]
    return float(line.rpartition(" ")[2])


def test_files_memory_and_the_start_of_the_process() -> None:
    page = page_of(process.process_metrics)
    assert value(page, MAX_FILES) == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert value(page, RESIDENT_BYTES) > 1_000_000
    assert time.time() - 24 * 3600 < value(page, START_TIME) <= time.time()


def test_open_files_are_counted() -> None:
    before = value(page_of(process.process_metrics), OPEN_FILES)
    ends = os.pipe()
    after = value(page_of(process.process_metrics), OPEN_FILES)
    for end in ends:
        os.close(end)
    assert after - before == 2


def test_where_the_system_has_no_proc_the_rest_remains(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> Any:
        raise FileNotFoundError

    monkeypatch.setattr("builtins.open", missing)
    monkeypatch.setattr(process, "_FILES", ("/nowhere", "/dev/fd"))
    page = page_of(process.process_metrics)
    monkeypatch.undo()
    assert RESIDENT_BYTES not in page.lines
    assert value(page, OPEN_FILES) > 2
    assert value(page, START_TIME) > 0


def test_a_timer_that_comes_late_is_lag() -> None:
    now = 100.0
    due: list[Callable[[], None]] = []

    class Loop:
        def call_later(self, seconds: float, then: Callable[[], None]) -> None:
            due.append(then)

    loop: Any = Loop()
    lag = LoopLag(loop, lambda: now)
    lag.start()
    for late in (0.0, 0.3):
        now += INTERVAL_SECONDS + late
        due.pop()()
    lines = page_of(lag.collect).lines[LOOP_LAG_SECONDS]
    assert any('le="0.0001"} 1' in line for line in lines)
    assert any('le="0.25"} 1' in line for line in lines)
    assert any('le="0.5"} 2' in line for line in lines)


def test_collections_are_pauses_by_generation() -> None:
    pauses = GcPauses()
    pauses.start()
    gc.collect()
    pauses.stop()
    gc.collect()
    lines = page_of(pauses.collect).lines[GC_SECONDS]
    assert f'{GC_SECONDS.name}_count{{generation="2"}} 1' in lines
