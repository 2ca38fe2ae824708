"""Which disk errors pass by themselves: those of a full disk or quota, and of too many open files.

The disk itself is sound, so what hit such an error goes on once there is space, or a descriptor is free.
"""

import errno

NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})
NO_DESCRIPTORS = frozenset({errno.EMFILE, errno.ENFILE})


def is_shortage(error: BaseException | None) -> bool:
    """Whether this error, or the one that caused it, passes by itself."""
    return _is_any(error, NO_SPACE | NO_DESCRIPTORS)


def is_descriptor_shortage(error: BaseException | None) -> bool:
    """Whether the process, or the machine, had no file descriptor left."""
    return _is_any(error, NO_DESCRIPTORS)


def remedy(error: BaseException | None) -> str:
    """Returns what ends a shortage, for a person."""
    if is_descriptor_shortage(error):
        return "raise the limit of open files (ulimit -n), or close connections"
    return "free space on the disk"


def _is_any(error: BaseException | None, numbers: frozenset[int]) -> bool:
    while error is not None:
        if isinstance(error, OSError) and error.errno in numbers:
            return True
        error = error.__cause__
    return False
