"""The names of the files in a partition directory, which are Kafka's.

A segment is named after its base offset, so the sorted listing of a directory is the log in order.
"""

from tidelog.base.ids import Offset

LOG = ".log"
INDEX = ".index"
TIME_INDEX = ".timeindex"
TXN_INDEX = ".txnindex"
SNAPSHOT = ".snapshot"
DELETED = ".deleted"
"""Added to the name of a file that is no longer part of the log and waits to be removed."""
RECOVERING = ".recovering"
"""Added to the name of a segment that recovery is rewriting; worthless until it is renamed."""
DAMAGED = ".damaged-"
"""Between the name of a segment and the position of the bytes that recovery set aside from it."""

CLEANED = ".cleaned"
"""Added to the name of a file that compaction is writing; worthless until it is renamed."""
SWAP = ".swap"
"""Added to the name of a compacted segment that is complete and takes the place of those it was made from."""

LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
LOST_RANGE = "lost-range-checkpoint"
"""Only in the directory of a log that lost records to damage: see `lost_range`."""
FAILED_SYNC = "failed-sync"
"""Only in the directory of a log whose last sync failed: see `failed_sync`."""

SEGMENT_SUFFIXES = (LOG, INDEX, TIME_INDEX, TXN_INDEX)
"""The files of one segment, the log first: without it the others mean nothing."""

_OFFSET_DIGITS = 20


def file_name(base: Offset, suffix: str) -> str:
    return f"{base:020d}{suffix}"


def parse(name: str) -> tuple[Offset, str] | None:
    """(offset, suffix) of a file that is named after an offset; None for every other file."""
    digits, suffix = name[:_OFFSET_DIGITS], name[_OFFSET_DIGITS:]
    if len(digits) != _OFFSET_DIGITS or not digits.isascii() or not digits.isdigit():
        return None
    return int(digits), suffix
