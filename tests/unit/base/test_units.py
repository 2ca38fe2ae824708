import pytest

from tidelog.base import units


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("64 KiB", 65536),
        ("1GiB", 1024**3),
        ("1.5 GiB", 3 * 512 * 1024**2),
        ("10 MB", 10_000_000),
        ("7b", 7),
        (" 2 tib ", 2 * 1024**4),
    ],
)
def test_sizes(text: str, count: int) -> None:
    assert units.parse_bytes(text) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("500ms", 500),
        ("30s", 30_000),
        ("7d", 604_800_000),
        ("1h 30m", 5_400_000),
        ("2w", 1_209_600_000),
        ("0.5s", 500),
    ],
)
def test_durations(text: str, count: int) -> None:
    assert units.parse_milliseconds(text) == count


@pytest.mark.parametrize("text", ["", "KiB", "1 k", "1 GiB 2 MiB", "-1 GiB", "1.5 b", "1 parsec"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        units.parse_bytes(text)


@pytest.mark.parametrize("text", ["", "d", "7", "7 days", "1h30", "-5s", "0.5ms"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        units.parse_milliseconds(text)


def test_the_largest_unit_that_divides_is_shown() -> None:
    assert units.show_bytes(1024**3) == "1 GiB"
    assert units.show_bytes(1_048_588) == "1048588 B"
    assert units.show_milliseconds(604_800_000) == "7d"
    assert units.show_milliseconds(90_000) == "90s"
    assert units.show_milliseconds(1) == "1ms"
