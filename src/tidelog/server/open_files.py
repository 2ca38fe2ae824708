"""How many files and sockets the process may have open.

Shells often start programs with a soft limit of 1,024, which 500 partitions use up; the hard limit is
usually far higher, and a process may raise its soft limit to it.
"""

import resource


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
