"""What expires by age does not follow a clock that jumps forward."""

import pytest

from tidelog.broker.trusted_clock import TrustedClock

HOUR_MS = 3_600_000
YEAR_MS = 365 * 24 * HOUR_MS
START_MS = 1_700_000_000_000


class Times:
    """A wall clock that a test sets, and time that passes."""

    def __init__(self, hold_ms: int = 24 * HOUR_MS) -> None:
        self.seconds = 500.0
        self.ahead_ms = 0
        self.hold_ms = hold_ms
        self.trusted = TrustedClock(self, self.monotonic, lambda: self.hold_ms)

    def now_ms(self) -> int:
        return START_MS + int(self.seconds * 1000) + self.ahead_ms

    def monotonic(self) -> float:
        return self.seconds

    def look(self) -> int:
        """By how much the trusted clock is ahead of the true time."""
        return self.trusted.now_ms() - (START_MS + int(self.seconds * 1000))


def test_small_steps_and_drift_are_followed() -> None:
    times = Times()
    for step in (0, 5_000, 30_000, 70_000, -20_000):
        times.ahead_ms = step
        times.seconds += 1
        assert abs(times.look() - step) <= 1
    assert times.trusted.jumps == 1, "only back by 90 s was a jump"


def test_a_jump_forward_is_not_followed(caplog: pytest.LogCaptureFixture) -> None:
    times = Times()
    times.ahead_ms = YEAR_MS
    for _ in range(100):
        times.seconds += 60
        assert abs(times.look()) <= 1, "it goes on from where it was"
    assert times.trusted.is_held
    assert (times.trusted.jumps, times.trusted.last_jump_ms) == (1, YEAR_MS)
    assert caplog.text.count("jumped forward by 31536000 s") == 1
    times.ahead_ms = 0
    assert abs(times.look()) <= 1
    assert not times.trusted.is_held
    assert caplog.text.count("the clock is back") == 1


def test_a_second_jump_is_held_anew() -> None:
    times = Times()
    times.ahead_ms = HOUR_MS
    assert times.look() == 0
    times.seconds += 24 * 3600 - 1
    assert times.look() == 0
    times.ahead_ms = YEAR_MS
    times.seconds += 3600
    assert abs(times.look()) <= 1, "the first jump has lasted for a day, and the year has not"
    times.seconds += 24 * 3600 - 1
    assert abs(times.look()) <= 1
    assert times.trusted.jumps == 2
    times.seconds += 1
    assert abs(times.look() - YEAR_MS) <= 1


def test_a_jump_that_lasts_is_believed(caplog: pytest.LogCaptureFixture) -> None:
    times = Times()
    times.ahead_ms = YEAR_MS
    assert times.look() == 0
    times.seconds += 24 * 3600 - 1
    assert abs(times.look()) <= 1
    times.seconds += 1
    assert times.look() == YEAR_MS
    assert not times.trusted.is_held
    assert caplog.text.count("believed after its jump") == 1


def test_a_jump_back_is_believed_and_so_is_the_way_forward_again() -> None:
    times = Times()
    times.ahead_ms = -HOUR_MS
    assert times.look() == -HOUR_MS
    assert not times.trusted.is_held
    times.ahead_ms = 10
    assert times.look() == 10
    assert not times.trusted.is_held
    times.ahead_ms = YEAR_MS
    assert times.look() == 10, "further than it was before"


def test_without_a_hold_every_jump_is_believed() -> None:
    times = Times(hold_ms=0)
    times.ahead_ms = YEAR_MS
    assert times.look() == YEAR_MS
