"""How many files and sockets the process may have open.

Shells often start programs with a soft limit of 1,024, which 500 partitions use up; the hard limit is
usually far higher, and a process may raise its soft limit to it.
"""

import resource
import sys
from typing import NamedTuple

RESERVE_MIN, RESERVE_MAX = 64, 1024
RESERVE_SHARE = 8


class FileLimits(NamedTuple):
    """Who may use which part of the limit.

    The kernel gives out the lowest free descriptor, so the number of a new one says how many are in use.
    """

    clients: int
    """From this descriptor on, connections of clients are refused."""
    logs: int
    """From this one on no further log is opened: the rest is for syncs, checkpoints and metadata."""
    sealed_segments: int
    """How many sealed segments may be open, to be read."""


def raise_open_file_limit() -> int:
    """Raise the soft limit to the hard one if that is allowed; returns the limit in force."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (ValueError, OSError):  # macOS refuses an unlimited soft limit
            return soft
        return hard
    return soft


def file_limits() -> FileLimits:
    """A share of the limit is reserved for the disk and for other brokers."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return FileLimits(sys.maxsize, sys.maxsize, sys.maxsize)
    reserve = max(RESERVE_MIN, min(soft // RESERVE_SHARE, RESERVE_MAX))
    return FileLimits(max(1, soft - reserve), max(1, soft - reserve // 2), reserve // 4)
