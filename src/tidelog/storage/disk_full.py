"""Which disk errors pass by themselves: those of a full disk, or of a full quota."""

import errno

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})


def is_disk_full(error: BaseException | None) -> bool:
    """Whether this error, or the one that caused it, is that of a full disk."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            return True
        error = error.__cause__
    return False
