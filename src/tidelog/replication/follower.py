"""The follower's side of a partition: what to ask the leader for, and what to do with its answers.

An answer counts only if it fits the question that this replica would ask now. A late answer, from before a
change of leader or a truncation, has no effect.
"""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Epoch, Offset, TimestampMs
from tidelog.base.weak import weak
from tidelog.metadata.image.entities import NO_LEADER
from tidelog.replication import refusals
from tidelog.replication.divergence import truncation_point
from tidelog.replication.follower_progress import Position
from tidelog.storage.log import Batches
from tidelog.storage.segment_deletion import SegmentDeletion
from tidelog.wire.batch import BatchHeader, crc_ok, iter_batches

if TYPE_CHECKING:
    from tidelog.replication.partition import Partition

ResultT = TypeVar("ResultT")

logger = logging.getLogger("tidelog.replication")


class FetchPosition(NamedTuple):
    """What a follower asks for; asking also acknowledges all that lies below."""

    offset: Offset
    last_epoch: Epoch
    """The leader epoch of the last record below; -1 where there is none."""
    leader_epoch: Epoch


class Truncation(NamedTuple):
    end: Offset
    deletions: list[SegmentDeletion]


class Follower:
    __slots__ = ("_leader_mark", "_partition", "must_checkpoint")

    def __init__(self, partition: "Partition") -> None:
        self._partition = weak(partition)
        self.must_checkpoint = partition.log.recovery.trusts_too_much
        """The log was truncated below its recovery point. The lower one must be on disk before something else
        is appended: batches that take the place of synced ones are not synced."""
        self._leader_mark = Position(partition.high_watermark)

    @property
    def leader_high_watermark(self) -> Offset:
        """As far as this replica heard of it in this epoch."""
        return self._leader_mark.end

    def begin(self) -> None:
        """Follow the leader of a new epoch, or none."""
        partition = self._partition
        # An older leader's high watermark says nothing of records that this replica may append later.
        self._leader_mark.end = partition.high_watermark
        partition.mark.limits = (self._leader_mark,)
        partition.release_all(refusals.not_leader(partition))

    def checkpointed(self) -> None:
        self.must_checkpoint = False

    # What to ask for

    def fetch_position(self) -> FetchPosition | None:
        """None while the disk must come first: see `Partition.when_synced` and `must_checkpoint`."""
        partition = self._partition
        if partition.log.offline is not None:
            raise refusals.offline(partition)
        if partition.is_leader or partition.leader_id == NO_LEADER:
            raise refusals.not_leader(partition)
        if partition.log.lost is not None:
            raise refusals.lost_records(partition)
        if partition.log.health.reserve.is_refusing:
            raise refusals.no_space(partition)
        if self.must_checkpoint or not partition.is_synced:
            return None
        return self._position()

    def _position(self) -> FetchPosition:
        log = self._partition.log
        return FetchPosition(log.end, log.leader_epochs.latest, self._partition.leader_epoch)

    def _is_current(self, asked: FetchPosition) -> bool:
        partition = self._partition
        log = partition.log
        if log.health.offline is not None:
            raise refusals.offline(partition)
        offset, last_epoch, leader_epoch = asked
        return (
            offset == log.end
            and last_epoch == log.leader_epochs.latest
            and leader_epoch == partition.leader_epoch
            and not partition.is_leader
        )

    # What the leader answers

    def follow(
        self,
        records: memoryview,
        *,
        asked: FetchPosition,
        leader_high_watermark: Offset,
        leader_log_start: Offset,
        now_ms: TimestampMs,
    ) -> int:
        """Append what the leader sent, which may be nothing but its offsets. Returns the bytes appended."""
        if not self._is_current(asked):
            return 0
        partition, log = self._partition, self._partition.log
        count = 0
        start = max(log.start, leader_log_start)
        if len(records):
            batches = self._checked(records)
            if batches:
                position, header = batches[-1]
                count = position + header.size
                self._make_room(batches[0][1], leader_log_start)
                try:
                    log.append_as_follower(records[:count], batches, now_ms=now_ms)
                except KafkaError:
                    self._release_if_offline()
                    raise
        mark = self._leader_mark
        mark.end = max(mark.end, leader_high_watermark)
        if count:
            partition.traffic.copied_bytes += count
            partition.appended(count)
        else:
            partition.advance()
        if start > log.start:
            self._on_disk(lambda: log.delete_before(min(start, partition.high_watermark)))
        return count

    def _checked(self, records: memoryview) -> Batches:
        """The batches that may come from the current leader: an answer may be of a later epoch than its
        question."""
        batches = []
        epoch, leader_epoch = self._partition.log.leader_epochs.latest, self._partition.leader_epoch
        for position, header in iter_batches(records):
            if header.leader_epoch > leader_epoch:
                break
            if header.leader_epoch < epoch:
                raise KafkaError(
                    ErrorCode.CORRUPT_MESSAGE,
                    f"offset {header.base_offset} of epoch {header.leader_epoch} came after epoch {epoch}",
                )
            if not crc_ok(records, position, header):
                raise KafkaError(
                    ErrorCode.CORRUPT_MESSAGE, f"offset {header.base_offset} came with a wrong CRC"
                )
            epoch = header.leader_epoch
            batches.append((position, header))
        return batches

    def _make_room(self, first: BatchHeader, leader_log_start: Offset) -> None:
        """The leader's log may start in the middle of a batch, which then comes as a whole."""
        log = self._partition.log
        is_empty = log.start == log.end or leader_log_start >= log.end
        if is_empty and first.base_offset < log.end < first.next_offset:
            for deletion in self._on_disk(lambda: log.truncate_fully_at(first.base_offset)):
                deletion.run()
            self.must_checkpoint = True

    def diverged(self, epoch: Epoch, end_offset: Offset, *, asked: FetchPosition) -> Truncation:
        """The leader has other records than this replica: truncate to what both may share, then ask again."""
        log = self._partition.log
        if not self._is_current(asked):
            return Truncation(log.end, [])
        if epoch < 0 or end_offset < 0:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE, f"the leader knows nothing of epoch {asked.last_epoch}"
            )
        target = truncation_point(log, epoch, end_offset)
        return self._truncate(lambda: log.truncate_to(target))

    def out_of_range(self, leader_start: Offset, leader_end: Offset, *, asked: FetchPosition) -> Truncation:
        """The leader's log, from `leader_start` to `leader_end`, does not reach this one's end: go there."""
        log = self._partition.log
        if self._is_current(asked):
            if leader_end < log.end:
                return self._truncate(lambda: log.truncate_to(leader_end))
            if leader_start > log.end:
                return self._truncate(lambda: log.truncate_fully_at(leader_start))
        return Truncation(log.end, [])

    # A log that lost records to damage

    def truncate_at_lost(self) -> None:
        """Outside of the in-sync set a damaged log is just behind: truncated before the damage, it copies the
        rest from its leader.

        A member of the set, or an eligible leader, must not truncate its log: it could be elected before it
        has the rest.
        """
        partition, log, lost = self._partition, self._partition.log, self._partition.log.lost
        if lost is None or partition.leader_id in {NO_LEADER, partition.node_id} or partition.is_trusted:
            return
        for deletion in self._shorten(log.truncate_at_lost).deletions:
            try:
                deletion.run()
            except OSError as error:
                logger.warning("a truncated segment cannot be removed: %s", error)
        self._on_disk(log.forget_lost)
        logger.warning(
            "%s-%d: offsets %s were damaged on this broker; it copies them again from %d on, from leader %d",
            *(partition.topic, partition.index, lost, log.end, partition.leader_id),
        )

    def begin_repair(self) -> list[SegmentDeletion]:
        """Truncate the log before what it lost, which stays written down until `repaired`."""
        return self._shorten(self._partition.log.truncate_at_lost).deletions

    def repaired(self, high_watermark: Offset) -> None:
        """The log is as it was before the damage, when it was committed up to the high watermark.

        It is synced, too, so its checkpoint is true again.
        """
        partition = self._partition
        self._on_disk(partition.log.forget_lost)
        self.checkpointed()
        partition.mark.offset = self._leader_mark.end = min(high_watermark, partition.log.end)

    # Truncating

    def _truncate(self, truncate: Callable[[], list[SegmentDeletion]]) -> Truncation:
        partition, log = self._partition, self._partition.log
        before, high_watermark = log.end, partition.high_watermark
        truncation = self._shorten(truncate)
        if log.end < high_watermark:
            logger.error(
                "%s-%d: records that consumers may have read are gone: truncated from %d to %d, below the "
                "high watermark %d, to match leader %d of epoch %d, whose election was unclean",
                *(partition.topic, partition.index, before, log.end, high_watermark),
                *(partition.leader_id, partition.leader_epoch),
            )
        elif log.end != before:
            logger.info(
                "%s-%d: truncated from %d to %d to match leader %d of epoch %d",
                *(partition.topic, partition.index, before, log.end),
                *(partition.leader_id, partition.leader_epoch),
            )
        return truncation

    def _shorten(self, truncate: Callable[[], list[SegmentDeletion]]) -> Truncation:
        partition, log = self._partition, self._partition.log
        before = log.end
        deletions = self._on_disk(truncate)
        if log.end != before:
            self.must_checkpoint = True
        mark = partition.mark
        mark.lower(max(log.start, min(mark.offset, log.end)), log.end)
        self._leader_mark.end = mark.offset
        partition.advance()
        partition.watchers.look_again()
        return Truncation(log.end, deletions)

    def _on_disk(self, work: Callable[[], ResultT]) -> ResultT:
        try:
            return work()
        except KafkaError:
            self._release_if_offline()
            raise

    def _release_if_offline(self) -> None:
        partition = self._partition
        if partition.log.offline is not None:
            partition.release_all(refusals.offline(partition))
