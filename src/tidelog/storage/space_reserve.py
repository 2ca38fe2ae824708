"""Decides whether the logs of a log dir may grow: below a reserve of free space they may not.

What keeps a cluster going is small: metadata, committed offsets, transaction markers, checkpoints. The
reserve is for these, so clients' records stop before the disk is full. Pure: the shell measures, and calls
`measured`.
"""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.units import size_text

AUTOMATIC = -1
AUTOMATIC_SHARE = 100
"""The automatic reserve is this part of the file system ..."""
AUTOMATIC_BYTES_MAX = 512 << 20
"""... and no more than this: a large disk does not need more for offsets and metadata than a small one."""
RESUME_SHARE = 4
"""Records are accepted again with a quarter more than the reserve, so that a log dir does not alternate."""


def reserve_of(setting: int, total_bytes: int) -> int:
    """Returns the bytes that `log.dirs.min.free.bytes` keeps free on a file system of this size."""
    if setting != AUTOMATIC:
        return setting
    return min(total_bytes // AUTOMATIC_SHARE, AUTOMATIC_BYTES_MAX)


class SpaceReserve:
    """The free space of one log dir, shared by its logs: they read `is_refusing` before they grow."""

    __slots__ = (
        "free_bytes",
        "is_refusing",
        "path",
        "refused_requests",
        "reserve_bytes",
        "total_bytes",
    )

    def __init__(self, path: str = "") -> None:
        self.path = path
        self.total_bytes = self.free_bytes = -1
        """As measured last; -1 before the first time."""
        self.reserve_bytes = 0
        self.is_refusing = False
        self.refused_requests = 0
        """Batches of producers that were refused since the broker started."""

    @property
    def resume_bytes(self) -> int:
        """With so many free bytes, records are accepted again."""
        return self.reserve_bytes + self.reserve_bytes // RESUME_SHARE

    def measured(self, total_bytes: int, free_bytes: int, setting: int) -> bool:
        """Take over a measurement. Returns whether the logs begin to refuse records, or cease to."""
        self.total_bytes, self.free_bytes = total_bytes, free_bytes
        self.reserve_bytes = reserve_of(setting, total_bytes)
        before = self.is_refusing
        self.is_refusing = free_bytes < (self.resume_bytes if before else self.reserve_bytes)
        return self.is_refusing is not before

    def why(self) -> str:
        return (
            f"log dir {self.path} has {size_text(self.free_bytes)} free, and log.dirs.min.free.bytes "
            f"reserves {size_text(self.reserve_bytes)}; records are accepted again with "
            f"{size_text(self.resume_bytes)} free: delete topics, lower their retention, or enlarge the disk"
        )

    def refusal(self, what: str) -> KafkaError:
        """Retriable, so that producers keep their records and send them again."""
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{what} takes no more records: {self.why()}")


NO_RESERVE = SpaceReserve()
"""For logs that may use the reserve, and for those that are not served: it is never measured."""
