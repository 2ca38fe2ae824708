"""How to make a file durable on this system: not only out of the kernel, but onto the disk itself.

On macOS fsync stops at the cache of the drive, which a power cut empties; F_FULLFSYNC goes through it.
Elsewhere fdatasync leaves out access times, which no caller waits for.
"""

import errno
import fcntl
import os
from collections.abc import Callable
from typing import Any

Sync = Callable[[int], object]

_NOT_HERE = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOTTY)
"""The error of file systems without F_FULLFSYNC, such as network file systems. Any other error is real."""


def best_sync(otherwise: Sync, fcntl_module: Any = fcntl) -> Sync:
    """F_FULLFSYNC where the system and the file system have it; it takes a descriptor."""
    command = getattr(fcntl_module, "F_FULLFSYNC", None)
    if command is None:
        return otherwise

    def full_sync(fd: int) -> None:
        try:
            fcntl_module.fcntl(fd, command)
        except OSError as error:
            if error.errno not in _NOT_HERE:
                raise
            otherwise(fd)

    return full_sync


def best_allocate(os_module: Any = os) -> Callable[[int, int], object]:
    """Gives a file a length, with room for it on the disk where the system can promise that."""
    allocate = getattr(os_module, "posix_fallocate", None)
    if allocate is not None:
        return lambda fd, length: allocate(fd, 0, length)

    def lengthen(fd: int, length: int) -> None:
        if os_module.fstat(fd).st_size < length:
            os_module.ftruncate(fd, length)

    return lengthen


sync_fd = best_sync(getattr(os, "fdatasync", os.fsync))
_sync_directory_fd = best_sync(os.fsync)
allocate_fd = best_allocate()


def sync_directory(path: str) -> None:
    """New names in it are durable after this."""
    fd = os.open(path, os.O_RDONLY)
    try:
        _sync_directory_fd(fd)
    finally:
        os.close(fd)
