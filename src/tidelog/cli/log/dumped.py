"""One line of a dump: facts for machines, a text for people, and whether it tells of damage."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Dumped:
    kind: str
    text: str
    facts: dict[str, Any] = field(default_factory=dict)
    damage: bool = False
    counts: bool = False
    """A batch or an entry, which `--count` limits; headings and summaries are not."""


def moment(timestamp_ms: int) -> str:
    """ISO 8601 in UTC; the bare number where no calendar reaches it."""
    if timestamp_ms < 0:
        return "-"
    try:
        shown = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(timestamp_ms)
    return shown.isoformat(timespec="milliseconds").replace("+00:00", "Z")
