"""Which segments compaction writes into one: neighbours, while the result cannot outgrow a segment.

Without this a log would become ever more and ever smaller segments, since each compaction shrinks them.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tidelog.base.ids import Offset
from tidelog.storage.log_config import LogConfig
from tidelog.storage.segment.offset_index import ENTRY_BYTES, RELATIVE_MAX
from tidelog.storage.segment.segment import Segment
from tidelog.storage.segment.time_index import ENTRY as TIME_ENTRY


class Source(NamedTuple):
    """A sealed segment as it was when a compaction was planned."""

    segment: Segment
    """Says which one it is; only the loop may look inside."""
    base: Offset
    end: Offset
    """Where the next segment begins."""
    size: int
    path: str


Group = tuple[Source, ...]


def group(sources: Sequence[Source], config: LogConfig) -> list[Group]:
    """Every source in one group, in order. Sizes are those before compaction, which is the worst case."""
    groups: list[list[Source]] = []
    for source in sources:
        if groups and _fits([*groups[-1], source], config):
            groups[-1].append(source)
        else:
            groups.append([source])
    return [tuple(members) for members in groups]


def _fits(members: Sequence[Source], config: LogConfig) -> bool:
    size = sum(source.size for source in members)
    entries = size // max(1, config.index_interval_bytes) + 1
    return (
        size <= config.segment_bytes
        and entries * max(ENTRY_BYTES, TIME_ENTRY.size) <= config.index_bytes_max
        and members[-1].end - 1 - members[0].base <= RELATIVE_MAX
    )
