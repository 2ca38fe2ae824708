"""Points in time and spans of it, for people."""

from datetime import UTC, datetime
from itertools import pairwise

UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"))


def time_text(timestamp_ms: int | None) -> str | None:
    """As the clock on the wall shows it, to the second."""
    if timestamp_ms is None:
        return None
    moment = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    return moment.astimezone().isoformat(sep=" ", timespec="seconds")


def span_text(span_ms: int) -> str:
    """In the two units that matter: 850 ms, 12 s, 3 min 20 s, 2 h 5 min, 3 d 4 h."""
    for (unit_ms, name), (smaller_ms, smaller) in pairwise(UNITS):
        if span_ms >= unit_ms:
            rest = span_ms % unit_ms // smaller_ms
            return f"{span_ms // unit_ms} {name}" + (f" {rest} {smaller}" if rest else "")
    return f"{span_ms // 1000} s" if span_ms >= 1000 else f"{max(0, span_ms)} ms"
