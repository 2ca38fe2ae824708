"""What a log dir's checkpoint files say of its logs: how far synced, where they start, how far compacted,
and up to where they were committed.

They save work after a start. One that cannot be understood is left out: it must not keep a broker from
its data.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

from tidelog.base.errors import StorageError
from tidelog.base.ids import Offset
from tidelog.replication.partition import Partition
from tidelog.storage.log_dir.checkpoints import TopicPartition
from tidelog.storage.log_dir.files import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_STARTS,
    RECOVERY_POINTS,
    LogDirFiles,
)

Offsets = dict[TopicPartition, Offset]

log = logging.getLogger("tidelog.broker.log_dirs")


@dataclass(slots=True)
class LogDirCheckpoints:
    recovery_points: Offsets = field(default_factory=dict)
    log_starts: Offsets = field(default_factory=dict)
    cleaned_to: Offsets = field(default_factory=dict)
    high_watermarks: Offsets = field(default_factory=dict)

    @classmethod
    def read(cls, files: LogDirFiles) -> "LogDirCheckpoints":
        return cls(
            _read(files, RECOVERY_POINTS, "every log is checked"),
            _read(files, LOG_STARTS, "deleted records may show again"),
            _read(files, CLEANER_OFFSETS, "compaction starts over"),
            _read(files, HIGH_WATERMARKS, "leaders wait for their followers before they serve readers"),
        )

    @classmethod
    def take(cls, partitions: Iterable[Partition]) -> "LogDirCheckpoints":
        """As the logs are now."""
        taken = cls()
        for partition in partitions:
            key, log_here = (partition.topic, partition.index), partition.log
            taken.recovery_points[key] = log_here.recovery_point
            if log_here.start > 0:
                taken.log_starts[key] = log_here.start
            if log_here.compaction.cleaned_to is not None:
                taken.cleaned_to[key] = log_here.compaction.cleaned_to
            taken.high_watermarks[key] = partition.committed_here
        return taken

    def keep(self, before: "LogDirCheckpoints", here: set[TopicPartition]) -> None:
        """For logs in this log dir that are not open, keep the previous values."""
        for key in here.difference(self.recovery_points):
            for old, new in zip(before._all, self._all, strict=True):
                if key in old:
                    new[key] = old[key]

    def copy(self) -> "LogDirCheckpoints":
        return LogDirCheckpoints(*map(dict, self._all))

    @property
    def _all(self) -> tuple[Offsets, ...]:
        return self.recovery_points, self.log_starts, self.cleaned_to, self.high_watermarks

    def write(self, files: LogDirFiles) -> None:
        """All but the high watermarks, which are written on their own, more often."""
        files.write_checkpoint(RECOVERY_POINTS, self.recovery_points)
        files.write_checkpoint(LOG_STARTS, self.log_starts)
        files.write_checkpoint(CLEANER_OFFSETS, self.cleaned_to)

    def forget(self, key: TopicPartition) -> None:
        for offsets in self._all:
            offsets.pop(key, None)

    def name_unknown_partitions(self, ours: set[TopicPartition]) -> bool:
        """Whether they name a partition that no longer exists, and could mislead a new one of the same
        name."""
        return not all(ours.issuperset(offsets) for offsets in self._all)


def write_high_watermarks(files: LogDirFiles, high_watermarks: Offsets) -> None:
    files.write_checkpoint(HIGH_WATERMARKS, high_watermarks)


def _read(files: LogDirFiles, name: str, otherwise: str) -> Offsets:
    try:
        return files.read_checkpoint(name)
    except StorageError as error:
        log.error("%s; without it, %s", error, otherwise)
        return {}
