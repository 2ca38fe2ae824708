"""Durations as ISO 8601 and Kafka's settings write them: P1D, PT2H30M, PT0.5S."""

import re

_DURATION = re.compile(
    r"P(?:(?P<days>\d{1,9})D)?"
    r"(?:T(?=\d)(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,9}(?:\.\d{1,9})?)S)?)?",
    re.IGNORECASE,
)


def parse_duration_ms(text: str) -> int:
    """ValueError for a text that is no duration."""
    match = _DURATION.fullmatch(text)
    if match is None or not any(match.groups()):
        raise ValueError(f"{text!r} is no duration such as P1DT2H or PT30M")
    days, hours, minutes = (int(match[unit] or 0) for unit in ("days", "hours", "minutes"))
    seconds = float(match["seconds"] or 0)
    return ((days * 24 + hours) * 60 + minutes) * 60_000 + round(seconds * 1000)
