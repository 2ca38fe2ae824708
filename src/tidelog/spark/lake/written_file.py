"""A Parquet file that a task has written: what the commit has to know about it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class WrittenFile:
    path: str
    """Relative to the table's directory."""
    size: int
    rows: int
    partition: Mapping[str, Any] = field(default_factory=dict)
    """The one value that each partition column has in this file."""
    statistics: Mapping[str, Any] = field(default_factory=dict)
    """As Delta names them: minValues, maxValues, nullCount."""
