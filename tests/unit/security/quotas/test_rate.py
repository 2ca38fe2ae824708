"""Rates over windows and the waits that they lead to."""

import pytest

from tidelog.security.quotas.rate import PAUSE_MS_MAX, SlidingRate
from tidelog.security.quotas.token_bucket import TokenBucket


def rate() -> SlidingRate:
    return SlidingRate(windows=11, window_ms=1000)


def test_a_burst_within_what_ten_seconds_allow_is_free() -> None:
    measured = rate()
    measured.record(1000, 0)
    assert measured.throttle_ms(100, 0) == 0
    measured.record(100, 0)
    assert measured.throttle_ms(100, 0) == 1000


@pytest.mark.parametrize("limit", [50, 1000, 7])
def test_who_waits_as_told_keeps_to_the_limit(limit) -> None:
    measured, now, sent = rate(), 0, 0
    while now < 120_000:
        measured.record(500, now)
        sent += 500
        now += max(1, measured.throttle_ms(limit, now))
    assert sent <= limit * (now / 1000) + 11 * limit + 500
    assert sent >= 0.75 * limit * (now / 1000)


def test_old_windows_are_forgotten() -> None:
    measured = rate()
    measured.record(10_000, 0)
    assert measured.per_second(10_500) > 0
    assert measured.per_second(11_000) == 0


def test_what_is_taken_back_does_not_count() -> None:
    measured = rate()
    measured.record(5000, 0)
    measured.record(-5000, 0)
    assert measured.throttle_ms(100, 0) == 0
    assert measured.total(0) == 0


def test_the_time_of_the_current_window_counts_as_well() -> None:
    """Kafka's arithmetic: ten windows count as full, and the one that is under way by its age."""
    measured = rate()
    measured.record(2060, 0)
    assert measured.per_second(300) == pytest.approx(200)  # 2060 in 10.3 s
    assert measured.throttle_ms(100, 300) == 10_300


def test_an_excess_of_less_than_a_millisecond_is_a_pause_all_the_same() -> None:
    measured = rate()
    measured.record(10_000_001, 0)
    assert measured.throttle_ms(1_000_000, 0) == 1


def test_a_pause_fits_into_a_response_however_small_the_limit() -> None:
    measured, bucket = rate(), TokenBucket(0, burst=0)
    bucket.take(100, 1e-300, 0, 0)
    pauses = [measured.charge(100_000_000, 1, 0), bucket.throttle_ms(1e-300, 0, 0)]
    assert pauses == [PAUSE_MS_MAX, PAUSE_MS_MAX]
    assert PAUSE_MS_MAX < 2**31


def test_a_limit_of_zero_still_ends() -> None:
    measured = rate()
    measured.record(1, 0)
    assert measured.throttle_ms(0, 0) == 11_000


def test_a_bucket_takes_a_burst_and_pays_its_debt() -> None:
    bucket = TokenBucket(0, burst=10)
    bucket.take(10, 2, 10, 0)
    assert bucket.throttle_ms(2, 10, 0) == 0
    bucket.take(4, 2, 10, 0)
    assert bucket.throttle_ms(2, 10, 0) == 2000
    assert bucket.throttle_ms(2, 10, 1999) == 1 or bucket.throttle_ms(2, 10, 1999) == 0
    assert bucket.throttle_ms(2, 10, 2000) == 0


def test_a_bucket_holds_no_more_than_a_burst() -> None:
    bucket = TokenBucket(0, burst=3)
    bucket.take(4, 1, 3, 1_000_000)
    assert bucket.throttle_ms(1, 3, 1_000_000) == 1000


def test_a_clock_that_goes_back_gives_nothing() -> None:
    bucket = TokenBucket(1000, burst=0)
    bucket.take(1, 1, 1, 0)
    assert bucket.throttle_ms(1, 1, 0) == 1000


def test_a_bucket_is_full_once_the_debt_and_the_burst_are_paid() -> None:
    bucket = TokenBucket(0, burst=10)
    bucket.take(14, 2, 10, 0)
    assert not bucket.is_full(2, 10, 6_999)
    assert bucket.is_full(2, 10, 7_000)
