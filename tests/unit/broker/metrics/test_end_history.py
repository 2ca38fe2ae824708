"""The age of an offset, from samples of where a partition ended; within a bound of memory and of error."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.broker.metrics.end_history import SAMPLES_MAX, EndHistory


def history(*samples: tuple[float, int]) -> EndHistory:
    made = EndHistory()
    for time, end in samples:
        made.add(time, end)
    return made


@pytest.mark.parametrize(
    ("offset", "age"),
    [
        (120, 0.0),  # the end: there is nothing to read
        (150, 0.0),  # beyond what is known
        (110, 5.0),  # halfway between the last sample and now
        (100, 10.0),
        (50, 20.0),  # interpolated
        (0, 30.0),
    ],
)
def test_the_age_of_an_offset(offset: int, age: float) -> None:
    assert history((10.0, 0), (30.0, 100)).age(offset, 40.0, 120) == age


def test_below_the_first_sample_it_is_the_time_since_then() -> None:
    assert history((10.0, 500), (20.0, 600)).age(3, 25.0, 600) == 15.0


def test_a_burst_after_an_idle_hour_is_as_old_as_the_burst() -> None:
    quiet = [(float(second), 7) for second in range(0, 3600, 5)]
    watched = history(*quiet, (3600.0, 1007))
    assert len(watched) == 3
    assert watched.age(7, 3605.0, 1007) == pytest.approx(10.0)


def test_a_log_that_became_shorter_begins_anew() -> None:
    watched = history((10.0, 500), (20.0, 600), (30.0, 5))
    assert len(watched) == 1
    assert watched.age(3, 40.0, 5) == 10.0


def test_memory_is_bounded_however_long_it_watches() -> None:
    watched = history(*((5.0 * number, 10 * number) for number in range(20_000)))
    assert len(watched) == SAMPLES_MAX
    slots = (watched._times, watched._ends)
    assert sys.getsizeof(watched) + sum(sys.getsizeof(one) for one in slots) < 1_000


@given(st.lists(st.integers(0, 1000), min_size=40, max_size=300), st.integers(0, 10**6), st.data())
def test_the_error_of_an_age_is_small_against_the_age(
    pace: list[int], start: int, data: st.DataObject
) -> None:
    watched, end, ends = EndHistory(), start, []
    for number, arrived in enumerate(pace):
        end += arrived
        watched.add(5.0 * number, end)
        ends.append(end)
    now = 5.0 * (len(pace) - 1)
    offset = data.draw(st.integers(start, end))
    if offset >= end:
        assert watched.age(offset, now, end) == 0.0
        return
    # All that can be known from every sample: it came between two of them.
    after = next((number for number, at in enumerate(ends) if at > offset), 0)
    newest, oldest = now - 5.0 * after, now - 5.0 * max(0, after - 1)
    age = watched.age(offset, now, end)
    slack = 0.35 * oldest + 10.0
    assert newest - slack <= age <= oldest + slack
