"""Positions as people write them."""

from datetime import UTC, datetime

import click
import pytest

from tidelog.cli.records.positions import Anchor, Position, parse_position

NOW_MS = 1_800_000_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("beginning", Position(Anchor.BEGINNING)),
        (" Earliest ", Position(Anchor.BEGINNING)),
        ("end", Position(Anchor.END)),
        ("42", Position(Anchor.OFFSET, 42)),
        ("0", Position(Anchor.OFFSET, 0)),
        ("-10", Position(Anchor.LAST, 10)),
        ("@1700000000123", Position(Anchor.TIME, 1_700_000_000_123)),
        ("500ms", Position(Anchor.TIME, NOW_MS - 500)),
        ("30s", Position(Anchor.TIME, NOW_MS - 30_000)),
        ("5m", Position(Anchor.TIME, NOW_MS - 300_000)),
        ("1.5h", Position(Anchor.TIME, NOW_MS - 5_400_000)),
        ("1d", Position(Anchor.TIME, NOW_MS - 86_400_000)),
        ("2w", Position(Anchor.TIME, NOW_MS - 1_209_600_000)),
        ("2026-11-15T08:00Z", Position(Anchor.TIME, 1_794_729_600_000)),
        ("2026-11-15T08:00:00.250+01:00", Position(Anchor.TIME, 1_794_726_000_250)),
    ],
)
def test_what_people_write_has_one_meaning(text: str, expected: Position) -> None:
    assert parse_position(text, NOW_MS) == expected


def test_a_time_without_a_zone_is_local() -> None:
    moment = datetime(2026, 11, 15, 8, 0).astimezone(UTC)
    assert parse_position("2026-11-15T08:00", NOW_MS).number == moment.timestamp() * 1000


@pytest.mark.parametrize("text", ["9" * 400 + "w", "@" + "9" * 19, "9" * 5000, "-" + "9" * 19, "0001-01-01"])
def test_numbers_beyond_all_clocks_and_logs_are_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a position"):
        parse_position(text, NOW_MS)


@pytest.mark.parametrize("text", ["", "yesterday", "5 parsecs", "--5", "@", "@x", "2026-13-01", "5mm", "1e3"])
def test_nonsense_is_refused_with_examples(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a position: give beginning"):
        parse_position(text, NOW_MS)
