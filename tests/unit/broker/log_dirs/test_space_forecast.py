import pytest

from tidelog.broker.log_dirs.space_forecast import WINDOW_SECONDS, SpaceForecast


def test_a_steady_growth_is_carried_on() -> None:
    forecast = SpaceForecast()
    for second in range(181):
        forecast.add(second, 10_000 - 10 * second)
    assert forecast.growth(180, 8_200) == pytest.approx(10)
    assert forecast.seconds_until(180, 8_200, 400) == pytest.approx(780)
    assert forecast.seconds_until(180, 300, 400) == 0


def test_a_moment_says_nothing() -> None:
    forecast = SpaceForecast()
    assert forecast.seconds_until(0, 10_000, 0) is None
    forecast.add(0, 10_000)
    assert forecast.seconds_until(60, 5_000, 0) is None


def test_space_that_becomes_free_predicts_nothing() -> None:
    forecast = SpaceForecast()
    forecast.add(0, 10_000)
    assert forecast.seconds_until(180, 10_000, 0) is None
    assert forecast.seconds_until(180, 11_000, 0) is None


def test_what_was_long_ago_is_forgotten() -> None:
    forecast = SpaceForecast()
    forecast.add(0, 1_000_000)
    for second in range(60, int(2 * WINDOW_SECONDS), 10):
        forecast.add(second, 5_000)
    assert forecast.seconds_until(2 * WINDOW_SECONDS, 5_000, 0) is None
    assert len(forecast._samples) <= WINDOW_SECONDS / 10 + 1
