"""Machines of a cluster on one computer move replicas between their cores one after the other.

Elsewhere they are restarted in turn. Here all get another number of cores at the same moment, and many
partitions have a replica to move on each of them: what one machine begins, another would undo.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

FILE = "cores.lock"


class Turns:
    def __init__(self, directory: str | None) -> None:
        """None for a machine that has its computer to itself."""
        self._path = None if directory is None else os.path.join(directory, FILE)

    @contextmanager
    def wait(self) -> Iterator[None]:
        """The turn ends with this block, or with this process."""
        if self._path is None:
            yield
            return
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)
