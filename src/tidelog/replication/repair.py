"""How the last trusted replica of a partition gets back what damage took, from a replica outside of the set.

No replica leads meanwhile: this one must not, since it misses records, and the others must not, since none of
them is known to have all that was acknowledged. But this one still knows what it had: up to which offset, and
which leader epoch wrote it. One epoch has one leader, which writes each offset once. So a replica whose log
holds the last lost offset under the same epoch holds all that was lost, byte for byte.

The log is truncated only after such a replica was found. What it sends is checked batch by batch; when the
log is as long as it was, the loss is forgotten. Which epoch that was is written down with the loss: the log
forgets it with the truncation, and a repair that fails half-way is tried again.
"""

from typing import NamedTuple

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NO_EPOCH, Epoch, Offset, TimestampMs
from tidelog.base.invariant import broken
from tidelog.metadata.image.entities import NO_LEADER
from tidelog.replication.partition import Partition
from tidelog.storage.segment_deletion import SegmentDeletion
from tidelog.wire.batch import crc_ok, iter_batches


class RepairPosition(NamedTuple):
    offset: Offset
    last_epoch: Epoch
    """That wrote what lies below: the other replica compares it with its own log."""


def awaits_repair(partition: Partition) -> bool:
    """The controller knows of the damage, and no replica may lead before this one has been repaired."""
    return (
        partition.log.lost is not None
        and partition.log.offline is None
        and partition.leader_id == NO_LEADER
        and partition.is_trusted
    )


class Repair:
    __slots__ = ("_end", "_epoch", "_high_watermark", "_partition")

    def __init__(self, partition: Partition) -> None:
        lost = partition.log.lost
        if lost is None:
            broken("a log without damage needs no repair", partition=partition)
        self._partition = partition
        self._end = lost.end
        known = partition.log.leader_epochs.epoch_of(lost.end - 1)
        self._epoch = known if lost.epoch == NO_EPOCH else lost.epoch
        self._high_watermark = partition.high_watermark

    @property
    def is_due(self) -> bool:
        return awaits_repair(self._partition)

    @property
    def is_done(self) -> bool:
        return self._partition.log.end >= self._end

    def proof(self) -> RepairPosition:
        """A replica that agrees up to here has all that was lost."""
        return RepairPosition(self._end, self._epoch)

    def begin(self) -> list[SegmentDeletion]:
        """Truncate the log before the damage; another replica has proved that it has the rest."""
        return self._partition.follower.begin_repair()

    def next(self) -> RepairPosition:
        log = self._partition.log
        return RepairPosition(log.end, log.leader_epochs.latest)

    def take(self, records: memoryview, now_ms: TimestampMs) -> int:
        """Append what was lost, and return its bytes. KafkaError where the records are others."""
        batches, epoch = [], self._partition.log.leader_epochs.latest
        for position, header in iter_batches(records):
            if header.base_offset >= self._end:
                break
            if header.next_offset > self._end or not epoch <= header.leader_epoch <= self._epoch:
                raise KafkaError(
                    ErrorCode.CORRUPT_MESSAGE,
                    f"offsets {header.base_offset} to {header.last_offset} came from epoch "
                    f"{header.leader_epoch}, but epochs {epoch} to {self._epoch} wrote what was lost, up to "
                    f"{self._end - 1}",
                )
            if not crc_ok(records, position, header):
                raise KafkaError(
                    ErrorCode.CORRUPT_MESSAGE, f"offset {header.base_offset} came with a wrong CRC"
                )
            epoch = header.leader_epoch
            batches.append((position, header))
        if not batches:
            return 0
        position, header = batches[-1]
        count = position + header.size
        self._partition.log.append_as_follower(records[:count], batches, now_ms=now_ms)
        return count

    def finish(self) -> None:
        """The log has all that it had, and it is synced."""
        self._partition.follower.repaired(self._high_watermark)
