"""When a replica's log is synced to disk, how much of it counts before that, and the waiters.

Under durability `fsync` only the synced part counts, so that no consumer ever sees a record that a power cut
could still remove.
"""

from collections.abc import Callable
from enum import Enum

from tidelog.base.ids import Offset
from tidelog.storage.log import PartitionLog


class Durability(Enum):
    FSYNC = "fsync"  # an acks=all answer and the high watermark wait for the disk
    INTERVAL = "interval"  # synced every durability.interval.ms; acknowledged before
    OS = "os"  # the page cache decides


FSYNC = Durability.FSYNC  # members of an enum are slow to look up, and every append does


class LogSync:
    __slots__ = ("_unsynced_since", "durability", "waiters")

    def __init__(self, durability: Durability) -> None:
        self.durability = durability
        self.waiters: list[Callable[[], None]] = []
        self._unsynced_since: float | None = None

    def durable_end(self, log: PartitionLog) -> Offset:
        """Up to here the log is as durable as the topic asks for."""
        return log.synced_end if self.durability is FSYNC else log.end

    def is_synced(self, log: PartitionLog) -> bool:
        """Whether the whole log, and the files beside it, are as durable as the topic asks for."""
        if self.durability is not FSYNC:
            return True
        return log.synced_end >= log.end and not log.has_unsynced_files

    def is_overdue(self, log: PartitionLog, now: float) -> bool:
        """Called every now and then: has something been unsynced for longer than the topic's `flush.ms`?"""
        if log.synced_end >= log.end or log.offline is not None:
            self._unsynced_since = None
            return False
        if self._unsynced_since is None:
            self._unsynced_since = now
        is_overdue = (now - self._unsynced_since) * 1000 >= log.config.flush_ms
        if is_overdue:
            self._unsynced_since = None  # the caller syncs it now; later appends count from then on
        return is_overdue

    def notify(self) -> None:
        waiters, self.waiters = self.waiters, []
        for done in waiters:
            done()
