"""Memory that becomes short: one line each way, and limits that fit a small container."""

import pytest

from tidelog.metrics.page import Page
from tidelog.server.connection.buffer_pool import BufferPool
from tidelog.server.connection.limits import ConnectionLimits
from tidelog.server.connection.memory_budget import MemoryBudget
from tidelog.server.memory_limits import MemoryReading
from tidelog.server.memory_watch import MemoryWatch, fitting, give_back_free_memory

MIB = 1 << 20


class Frame:
    """A connection that waits for memory."""

    begun_bytes = 0

    def __init__(self) -> None:
        self.granted = 0

    def memory_granted(self, count: int) -> None:
        self.granted += count

    def is_late(self, now: float, deadline: float) -> bool:
        return False

    def memory_overdue(self) -> None:
        raise AssertionError("it may wait")


class Source:
    def __init__(self) -> None:
        self.used = 10

    def read(self) -> MemoryReading:
        return MemoryReading(100, self.used, True)


def test_short_from_nine_tenths_to_eight(caplog: pytest.LogCaptureFixture) -> None:
    told: list[bool] = []
    source = Source()
    watch = MemoryWatch(source)
    watch.begin(told.append)
    for used in (10, 89, 90, 95, 85, 80, 79, 85):
        source.used = used
        watch.measured(source.read())
    assert told == [True, False]
    assert caplog.text.count("memory is short") == 1
    assert caplog.text.count("memory is enough again") == 1
    page = Page()
    for _ in watch.collect(page):
        pass
    lines = {line for lines in page.lines.values() for line in lines}
    assert lines == {
        "tidelog_memory_pressure 0",
        "tidelog_memory_limit_bytes 100",
        "tidelog_memory_used_bytes 85",
    }


def test_the_machine_is_never_short_for_one_broker() -> None:
    watch = MemoryWatch(Source())
    watch.begin(lambda is_short: pytest.fail("nothing to relieve"))
    watch.measured(MemoryReading(100, 99, False))
    assert not watch.is_short


def test_the_budget_fits_a_small_container_and_leaves_a_large_one_alone() -> None:
    limits = ConnectionLimits()
    small = fitting(limits, MemoryReading(200 * MIB, 0, True))
    assert (small.held_bytes_max, small.frame_bytes_max) == (50 * MIB, 50 * MIB)
    assert fitting(limits, MemoryReading(1024 * MIB, 0, True)) is limits
    assert fitting(limits, MemoryReading(200 * MIB, 0, False)) is limits
    assert fitting(limits, None) is limits


def test_memory_is_given_back() -> None:
    give_back_free_memory()


def test_a_smaller_budget_admits_less_until_it_is_large_again() -> None:
    budget = MemoryBudget(100 * MIB, 1.0, 2.0)
    first, second = Frame(), Frame()
    budget.resize(25 * MIB)
    assert not budget.take(first, 30 * MIB, 30 * MIB, 0.0), "larger than all that there is now"
    assert budget.take(second, 10_000, 10_000, 0.0), "a small one goes on"
    budget.resize(100 * MIB)
    assert first.granted == 30 * MIB
    assert budget.held == 30 * MIB + 10_000


def test_a_pool_keeps_nothing_while_memory_is_short() -> None:
    pool = BufferPool(4 * MIB)
    pool.give(pool.take(MIB))
    assert pool.kept_bytes == MIB
    pool.keep(0)
    pool.give(pool.take(MIB))
    assert pool.kept_bytes == 0
    pool.keep(4 * MIB)
    pool.give(pool.take(MIB))
    assert pool.kept_bytes == MIB
