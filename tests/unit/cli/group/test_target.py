"""Times and durations as people write them."""

import click
import pytest

from tidelog.cli.group.target import parse_duration, parse_time

NOW = 1_700_000_000_000
HOUR = 3_600_000


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2023-11-14T22:13:20Z", NOW),
        ("2023-11-14T22:13:20.250+00:00", NOW + 250),
        ("2h", NOW - 2 * HOUR),
        ("500ms", NOW - 500),
        ("@1699999999999", 1_699_999_999_999),
        ("5000w", 0),
    ],
)
def test_times(text: str, moment: int) -> None:
    assert parse_time(text, NOW) == moment


@pytest.mark.parametrize(
    "text", ["", "yesterday", "earliest", "42", "-10", "1700000000000", "9" * 400 + "w", "@" + "9" * 19]
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a time"):
        parse_time(text, NOW)


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("1h", HOUR),
        ("90m", 90 * 60_000),
        ("1.5h", 90 * 60_000),
        ("1h30m", 90 * 60_000),
        ("1d12h", 36 * HOUR),
        ("250ms", 250),
        ("2w", 14 * 24 * HOUR),
        ("PT1H30M", 90 * 60_000),
        ("pt0.5s", 500),
        ("P1DT2H", 26 * HOUR),
        ("P1W", 7 * 24 * HOUR),
        ("0s", 0),
    ],
)
def test_durations(text: str, length: int) -> None:
    assert parse_duration(text) == length


@pytest.mark.parametrize(
    "text", ["", "1", "h", "-1h", "1y", "1h 30", "P", "PT", "P1DT", "PT1D", "1h!", "9" * 400 + "w"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a duration"):
        parse_duration(text)
