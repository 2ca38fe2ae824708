"""The follower's side of a partition: what to ask the leader for, and what to do with its answers.

An answer counts only if it fits the question that this replica would ask now. A late one, from before a
change of leader or a truncation, has no effect.
"""

import logging
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Epoch, NodeId, Offset, TimestampMs, Uuid
from tidelog.metadata.image.entities import NO_LEADER
from tidelog.replication.divergence import truncation_point
from tidelog.replication.followers import Position
from tidelog.replication.replica import Durability, Replica
from tidelog.storage.log import Batches, PartitionLog
from tidelog.storage.segment_deletion import SegmentDeletion
from tidelog.wire.batch import BatchHeader, crc_ok, iter_batches

ResultT = TypeVar("ResultT")

logger = logging.getLogger("tidelog.replication")


class FetchPosition(NamedTuple):
    """What a follower asks for; asking also acknowledges all that lies below."""

    offset: Offset
    last_epoch: Epoch
    """That wrote what lies below; -1 where there is nothing."""
    leader_epoch: Epoch


class Truncation(NamedTuple):
    end: Offset
    deletions: list[SegmentDeletion]


class Following(Replica):
    __slots__ = ("_leader_mark", "must_checkpoint")

    def __init__(
        self,
        topic: str,
        topic_id: Uuid,
        index: int,
        log: PartitionLog,
        *,
        node_id: NodeId,
        durability: Durability,
        min_insync_replicas: int,
        on_unsynced: Callable[[Any], None],
        high_watermark: Offset | None = None,
    ) -> None:
        super().__init__(
            topic,
            topic_id,
            index,
            log,
            node_id=node_id,
            durability=durability,
            min_insync_replicas=min_insync_replicas,
            on_unsynced=on_unsynced,
            high_watermark=high_watermark,
        )
        self.must_checkpoint = log.recovery.trusts_too_much
        """The log was cut below its recovery point. That must be on disk before something else is appended:
        what takes the place of synced batches is not synced."""
        self._leader_mark = Position(self.high_watermark)
        """The leader's high watermark, as far as this replica heard of it in this epoch."""
        self._limits = (self._leader_mark,)

    def _truncate_at_lost(self) -> None:
        """Outside of the in-sync set a damaged log is just behind: cut before the damage, it gets the rest.

        A member of the set, or an eligible leader, must not cut its log: it could be elected before it has
        the rest.
        """
        if self.log.lost is None or self.leader_id in {NO_LEADER, self.node_id} or self.is_trusted:
            return
        lost = self.log.lost
        for deletion in self._shorten(self.log.truncate_at_lost).deletions:
            try:
                deletion.run()
            except OSError as error:
                logger.warning("a segment that was cut off cannot be removed: %s", error)
        self._on_disk(self.log.forget_lost)
        logger.warning(
            "%s-%d: offsets %s were damaged here; it goes on at %d, with what leader %d has",
            *(self.topic, self.index, lost, self.log.end, self.leader_id),
        )

    def begin_repair(self) -> list[SegmentDeletion]:
        """Cut the log before what it lost, which stays written down until `repaired`."""
        return self._shorten(self.log.truncate_at_lost).deletions

    def repaired(self, high_watermark: Offset) -> None:
        """The log is as it was before the damage, when it was committed up to the high watermark.

        It is synced, too, so what the checkpoint says of it is true again.
        """
        self._on_disk(self.log.forget_lost)
        self.checkpointed()
        self.high_watermark = self._leader_mark.end = min(high_watermark, self.log.end)

    def lost_error(self) -> KafkaError:
        return KafkaError(
            ErrorCode.KAFKA_STORAGE_ERROR,
            f"{self.topic}-{self.index} is damaged on broker {self.node_id}: it misses offsets "
            f"{self.log.lost}, and waits to be repaired from another replica",
        )

    def _begin_following(self) -> None:
        self.is_leader = False
        # An older leader's word holds for what was here then, not for what this replica may append later.
        self._leader_mark.end = self.high_watermark
        self._limits = (self._leader_mark,)
        self.release_all(self.not_leader_error())

    def checkpointed(self) -> None:
        self.must_checkpoint = False

    def _position(self) -> FetchPosition:
        return FetchPosition(self.log.end, self.log.leader_epochs.latest, self.leader_epoch)

    def fetch_position(self) -> FetchPosition | None:
        """None while something must happen on the disk first: see `when_synced` and `must_checkpoint`."""
        if self.log.offline is not None:
            raise self.offline_error()
        if self.is_leader or self.leader_id == NO_LEADER:
            raise self.not_leader_error()
        if self.log.lost is not None:
            raise self.lost_error()
        if self.must_checkpoint or not self.is_synced:
            return None
        return self._position()

    def _is_current(self, asked: FetchPosition) -> bool:
        if self.log.offline is not None:
            raise self.offline_error()
        return not self.is_leader and asked == self._position()

    def follow(
        self,
        records: memoryview,
        *,
        asked: FetchPosition,
        leader_high_watermark: Offset,
        leader_log_start: Offset,
        now_ms: TimestampMs,
    ) -> int:
        """Append what the leader answered, which may be nothing but its offsets. How many bytes were new."""
        if not self._is_current(asked):
            return 0
        count = 0
        start = max(self.log.start, leader_log_start)
        if len(records):
            batches = self._checked(records)
            if batches:
                position, header = batches[-1]
                count = position + header.size
                self._make_room(batches[0][1], leader_log_start)
                self._on_disk(lambda: self.log.append_as_follower(records[:count], batches, now_ms=now_ms))
        mark = self._leader_mark
        mark.end = max(mark.end, leader_high_watermark)
        if count:
            self._written(count)
        else:
            self.advance()
        if start > self.log.start:
            self._on_disk(lambda: self.log.delete_before(min(start, self.high_watermark)))
        return count

    def _checked(self, records: memoryview) -> Batches:
        """Those that the leader we know may send: an answer may be of a later epoch than its question."""
        found = []
        epoch = self.log.leader_epochs.latest
        for position, header in iter_batches(records):
            if header.leader_epoch > self.leader_epoch:
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
            found.append((position, header))
        return found

    def _make_room(self, first: BatchHeader, leader_log_start: Offset) -> None:
        """The leader's log may start in the middle of a batch, which then comes as a whole."""
        log = self.log
        is_empty = log.start == log.end or leader_log_start >= log.end
        if is_empty and first.base_offset < log.end < first.next_offset:
            for deletion in self._on_disk(lambda: log.truncate_fully_at(first.base_offset)):
                deletion.run()
            self.must_checkpoint = True

    def diverged(self, epoch: Epoch, end_offset: Offset, *, asked: FetchPosition) -> Truncation:
        """The leader has other records than we: cut what it says we cannot share, then ask again."""
        if not self._is_current(asked):
            return Truncation(self.log.end, [])
        if epoch < 0 or end_offset < 0:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE, f"the leader knows nothing of epoch {asked.last_epoch}"
            )
        target = truncation_point(self.log, epoch, end_offset)
        return self._truncate(lambda: self.log.truncate_to(target))

    def out_of_range(self, leader_start: Offset, leader_end: Offset, *, asked: FetchPosition) -> Truncation:
        """What comes next here is not in the leader's log, which has these bounds: go where it is."""
        log = self.log
        if self._is_current(asked):
            if leader_end < log.end:
                return self._truncate(lambda: log.truncate_to(leader_end))
            if leader_start > log.end:
                return self._truncate(lambda: log.truncate_fully_at(leader_start))
        return Truncation(log.end, [])

    def _truncate(self, cut: Callable[[], list[SegmentDeletion]]) -> Truncation:
        log, before, known = self.log, self.log.end, self.high_watermark
        truncated = self._shorten(cut)
        if log.end < known:
            logger.error(
                "%s-%d: records that consumers may have read are gone: cut from %d to %d, below the high "
                "watermark %d, as leader %d of epoch %d has it; its election was unclean",
                *(self.topic, self.index, before, log.end, known, self.leader_id, self.leader_epoch),
            )
        elif log.end != before:
            logger.info(
                "%s-%d: cut from %d to %d as leader %d of epoch %d has it",
                *(self.topic, self.index, before, log.end, self.leader_id, self.leader_epoch),
            )
        return truncated

    def _shorten(self, cut: Callable[[], list[SegmentDeletion]]) -> Truncation:
        log, before = self.log, self.log.end
        deletions = self._on_disk(cut)
        if log.end != before:
            self.must_checkpoint = True
        self.high_watermark = max(log.start, min(self.high_watermark, log.end))
        self._leader_mark.end = self.high_watermark
        self._hidden = deque(part for part in self._hidden if part[0] <= log.end)
        self.advance()
        self.notify(0)
        return Truncation(log.end, deletions)

    def _on_disk(self, work: Callable[[], ResultT]) -> ResultT:
        try:
            return work()
        except KafkaError:
            if self.log.offline is not None:
                self.release_all(self.offline_error())
            raise
