import pytest

from tidelog.base.durations import parse_duration_ms

MINUTE = 60_000


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("P1D", 24 * 60 * MINUTE),
        ("PT2H30M", 150 * MINUTE),
        ("P1DT1M", (24 * 60 + 1) * MINUTE),
        ("pt0.5s", 500),
        ("PT0S", 0),
    ],
)
def test_durations(text: str, ms: int) -> None:
    assert parse_duration_ms(text) == ms


@pytest.mark.parametrize("text", ["", "P", "PT", "P1", "1D", "P-1D", "P1DT", "PT1D", "P1H", "PT1.S", "P1D "])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="no duration"):
        parse_duration_ms(text)
