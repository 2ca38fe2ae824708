"""One partition on its way from its leader: what to ask for next, and what an answer means for the log.

Nothing here waits or does I/O: `take` returns what the fetcher has to do next.
"""

import logging
from enum import Enum, auto

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import TimestampMs
from tidelog.replication.partition import FetchPosition, Partition, Truncation
from tidelog.wire.messages.fetch import FetchPartition, PartitionData

FIRST_RETRY_SECONDS = 0.02
"""Leader and follower learn of a new leader at about the same time: the first of them asks again soon."""

QUIET_FAILURES = 5
FORKS_MAX = 100
"""Truncations in a row without an append before it counts as going round in circles."""

_NOTHING = memoryview(b"")
_STALE = {
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
}
"""Leader or follower has not got the newest metadata yet; no cause for alarm."""

log = logging.getLogger("tidelog.broker.followers")


class Next(Enum):
    NOTHING = auto()  # the leader goes on from where it is
    ASK = auto()  # from where the log ends now
    RETRY = auto()  # later


class CopiedPartition:
    __slots__ = ("_asked", "_failures", "asked_in", "is_behind", "key", "partition", "retry_at")

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.key = partition.topic_id, partition.index
        self.asked_in = 0
        """The number of the request that says from where. Answers to earlier ones mean nothing any more."""
        self.is_behind = True
        """Whether the leader has more, as far as is known: only then may a quota hold it back."""
        self.retry_at: float | None = None
        self._asked: FetchPosition | None = None
        self._failures = 0

    def ask(self, bytes_max: int, request_number: int) -> FetchPartition | None:
        """None while the disk must come first. KafkaError where there is nothing to ask for."""
        partition = self.partition
        position = partition.follower.fetch_position()
        if position is None:
            return None
        self._asked = position
        self.asked_in = request_number
        return FetchPartition(
            partition=partition.index,
            current_leader_epoch=position.leader_epoch,
            fetch_offset=position.offset,
            last_fetched_epoch=position.last_epoch,
            log_start_offset=partition.log.start,
            partition_max_bytes=bytes_max,
        )

    def take(self, answer: PartitionData, now_ms: TimestampMs) -> Next:
        """Do to the log what the leader's answer says."""
        partition, asked = self.partition, self._asked
        if asked is None:
            return Next.NOTHING
        try:
            if answer.error_code:
                return self._refused(ErrorCode.of(answer.error_code), answer, asked)
            if answer.diverging_epoch is not None:
                fork = answer.diverging_epoch
                _remove(partition.follower.diverged(fork.epoch, fork.end_offset, asked=asked))
                return Next.ASK
            records = answer.records if isinstance(answer.records, memoryview) else _NOTHING
            taken = partition.follower.follow(
                records,
                asked=asked,
                leader_high_watermark=answer.high_watermark,
                leader_log_start=answer.log_start_offset,
                now_ms=now_ms,
            )
        except KafkaError as error:
            log.error("%s-%d cannot be copied: %s", partition.topic, partition.index, error.message)
            return Next.RETRY
        if records and not taken:
            return Next.RETRY  # of a leader epoch that has not reached this broker yet
        self._failures = 0
        self.is_behind = partition.log.end < answer.high_watermark
        return Next.ASK if taken else Next.NOTHING

    def _refused(self, code: ErrorCode, answer: PartitionData, asked: FetchPosition) -> Next:
        partition, bounds = self.partition, answer.diverging_epoch
        if code is ErrorCode.OFFSET_OUT_OF_RANGE and bounds is not None and self._failures < FORKS_MAX:
            # Our own leaders say with this error from where to where their log goes.
            before = partition.log.end
            _remove(partition.follower.out_of_range(answer.log_start_offset, bounds.end_offset, asked=asked))
            if partition.log.end != before:
                log.warning(
                    "%s-%d continues at %d instead of %d: its leader has offsets %d to %d",
                    *(partition.topic, partition.index, partition.log.end, before),
                    *(answer.log_start_offset, bounds.end_offset),
                )
                self._failures += 1
                return Next.ASK
        level = logging.DEBUG if code in _STALE and self._failures < QUIET_FAILURES else logging.WARNING
        log.log(level, "%s-%d: its leader answers %s", partition.topic, partition.index, code.name)
        return Next.RETRY

    def put_off(self, now: float, seconds_max: float) -> None:
        """Wait before the next attempt, longer each time."""
        seconds = min(seconds_max, FIRST_RETRY_SECONDS * 2 ** min(self._failures, 16))
        self._failures += 1
        self.retry_at = now + seconds


def _remove(truncated: Truncation) -> None:
    """The segments have other names already: those that cannot be removed now go at the next start."""
    for deletion in truncated.deletions:
        try:
            deletion.run()
        except OSError as error:
            log.warning("a truncated segment cannot be removed: %s", error)
