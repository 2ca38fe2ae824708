import threading

import pytest

from tidelog.broker.log_dirs.cleaner_throttle import CleanerThrottle, CompactionStopped


class Clock:
    seconds = 100.0

    def now_ms(self):
        return 0

    def monotonic(self):
        return self.seconds


class Stop(threading.Event):
    """Waits that only move the clock."""

    def __init__(self, clock):
        super().__init__()
        self.clock = clock
        self.waits = []

    def wait(self, timeout=None):
        self.waits.append(timeout)
        self.clock.seconds += timeout
        return self.is_set()


def test_the_rate_holds_over_time():
    clock = Clock()
    throttle = CleanerThrottle(clock)
    throttle.bytes_per_second = 1000.0
    stop = Stop(clock)
    take = throttle.of(stop)
    for _ in range(500):
        take(100)
    assert 49 < clock.seconds - 100 <= 50


def test_short_waits_are_saved_up():
    clock = Clock()
    throttle = CleanerThrottle(clock)
    throttle.bytes_per_second = 1_000_000.0
    stop = Stop(clock)
    take = throttle.of(stop)
    for _ in range(1000):
        take(100)
    assert len([wait for wait in stop.waits if wait >= 0.01]) <= 10
    assert 0.08 < clock.seconds - 100 <= 0.1


def test_several_compactions_share_the_rate():
    clock = Clock()
    throttle = CleanerThrottle(clock)
    throttle.bytes_per_second = 1000.0
    stop = Stop(clock)
    takes = [throttle.of(stop), throttle.of(stop)]
    for number in range(100):
        takes[number % 2](100)
    assert 9 < clock.seconds - 100 <= 10


def test_without_a_limit_there_are_only_breaths_for_the_event_loop():
    clock = Clock()
    stop = Stop(clock)
    take = CleanerThrottle(clock).of(stop)
    for _ in range(16):
        take(4096)
    assert len(stop.waits) == 4
    assert max(stop.waits) < 0.001


def test_stopped_is_stopped_also_while_waiting():
    clock = Clock()
    throttle = CleanerThrottle(clock)
    stop = Stop(clock)
    take = throttle.of(stop)
    stop.set()
    with pytest.raises(CompactionStopped):
        take(1)
    stop.clear()
    throttle.bytes_per_second = 1.0
    take(1000)
    stop.wait = lambda timeout: True
    with pytest.raises(CompactionStopped):
        take(1)
