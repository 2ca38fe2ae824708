"""The driver's side of a stream: where it begins, how far the next micro-batch goes, what its tasks read.

Knows brokers but not Spark. Losses of data are looked for where a micro-batch is planned, since that is done
again, with the same offsets, when a batch is run once more after a crash.
"""

import time
from collections.abc import Callable
from functools import cached_property

from tidelog.blocking.cluster import Cluster, TopicPartition
from tidelog.blocking.errors import NoSuchTopic
from tidelog.blocking.log_bounds import GONE_AFTER_S, LogBounds
from tidelog.spark.source.loss import LossReport
from tidelog.spark.source.offsets import SubscribedPartitions, find_partitions, latest_offsets, resolve
from tidelog.spark.source.options import SourceOptions
from tidelog.spark.source.planning import OffsetRange, limited
from tidelog.spark.source.stream_offset import LAG, StreamOffset

TOPICS_AGE_MAX_S = 1.0
"""An idle query asks for new offsets a hundred times a second; for new partitions once will do."""
PAUSE_S = 0.2


class StreamPlanner:
    def __init__(
        self,
        options: SourceOptions,
        cluster: Cluster,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._options, self._cluster, self._now, self._sleep = options, cluster, now, sleep
        self._loss = LossReport(fails=options.fail_on_data_loss)
        self._initial: StreamOffset | None = None
        self._target: StreamOffset | None = None
        self._newest: StreamOffset | None = None
        self._lag = 0
        self._subscribed: tuple[float, SubscribedPartitions] | None = None
        self._triggered_at: float | None = None

    @cached_property
    def _bounds(self) -> LogBounds:
        return LogBounds(self._cluster, read_committed=self._options.read_committed, now=self._now)

    def initial(self) -> StreamOffset:
        """Where a query without a checkpoint begins."""
        found = find_partitions(self._cluster, self._options.subscription)
        found.require_all()
        offsets = resolve(self._options.starting, found.partitions, self._bounds)
        self._initial = StreamOffset(offsets, found.topic_ids)
        return self._initial

    def freeze(self) -> None:
        """From now on the logs end where they end now (Trigger.AvailableNow)."""
        self._target = self._ends(StreamOffset({}))

    def latest(self, start: StreamOffset, rows_max: int | None, rows_min: int | None) -> StreamOffset:
        """The end of the next micro-batch; `start` itself where there is nothing to do yet."""
        ends = self._newest = self._ends(start) if self._target is None else self._frozen_ends(start)
        begins = self._begins(start, ends)
        self._lag = _rows(begins, ends)
        if rows_min is not None and self._target is None and self._is_too_early(self._lag, rows_min):
            return start
        chosen = ends.offsets if rows_max is None else limited(begins, ends.offsets, rows_max)
        # Also where the first batch is empty: Spark runs it, and asks once more where the query begins.
        first = start if start == self._initial else None
        if first is None and chosen == start.offsets and ends.topic_ids == start.topic_ids:
            return start
        end = StreamOffset(chosen, ends.topic_ids, first)
        self._lag -= _rows(begins, end)
        return end

    def report(self) -> dict[str, object] | None:
        """Where the logs end, as was last heard, and how many offsets they are ahead of the query."""
        return None if self._newest is None else {**self._newest.to_json(), LAG: self._lag}

    def ranges(self, start: StreamOffset, end: StreamOffset) -> list[OffsetRange]:
        """What a micro-batch reads."""
        start = end.first or start
        self._report_gone(start, end)
        new = [partition for partition in end.offsets if _is_new(partition, start, end)]
        begins = {**start.offsets, **self._beginnings_of(new, start, end)}
        ranges = []
        for partition, stop in sorted(end.offsets.items()):
            begin = begins.get(partition, stop)
            if begin > stop:
                self._loss.report(f"{partition}: the log was cut, from offset {begin} to {stop}")
            ranges.append(OffsetRange(partition, begin, stop, end.topic_ids.get(partition.topic, bytes(16))))
        return [each for each in ranges if each.size > 0]

    def _report_gone(self, start: StreamOffset, end: StreamOffset) -> None:
        gone = sorted(partition for partition in start.offsets if partition not in end.offsets)
        if gone:
            self._loss.report(f"{', '.join(map(str, gone))}: the partition does not exist any more")
        for topic in sorted({partition.topic for partition in end.offsets}):
            if start.is_recreated(topic, end):
                self._loss.report(f"{topic}: the topic was deleted and created again")

    def _beginnings_of(
        self, new: list[TopicPartition], start: StreamOffset, end: StreamOffset
    ) -> dict[TopicPartition, int]:
        """Of partitions that came during the query: they are read from the first record."""
        try:
            found = self._bounds.earliest(new)
        except NoSuchTopic as error:
            self._loss.report(str(error))
            return {}
        for partition, begin in sorted(found.items()):
            if begin > 0 and not start.is_recreated(partition.topic, end):
                self._loss.report(f"{partition}: the new partition begins at offset {begin} instead of 0")
        return found

    def _begins(self, start: StreamOffset, ends: StreamOffset) -> dict[TopicPartition, int]:
        new = [partition for partition in ends.offsets if _is_new(partition, start, ends)]
        return {**start.offsets, **self._bounds.earliest(new)}

    def _is_too_early(self, rows: int, rows_min: int) -> bool:
        """Few rows may wait, but not for ever, and not those of the first batch."""
        now, before = self._now(), self._triggered_at
        waited_ms = float("inf") if before is None else (now - before) * 1000
        if rows < rows_min and waited_ms < self._options.trigger_delay_max_ms:
            return True
        self._triggered_at = now
        return False

    def _frozen_ends(self, start: StreamOffset) -> StreamOffset:
        """They were asked for before it was known where the query begins, which may be beyond them, or in a
        partition that a broker did not know of yet. Neither means that records are gone."""
        frozen = self._target
        if frozen is None or any(frozen.offsets.get(at, -1) < begin for at, begin in start.offsets.items()):
            frozen = self._target = self._ends(start)
        return frozen

    def _ends(self, start: StreamOffset) -> StreamOffset:
        found = self._partitions(start)
        try:
            return self._ends_of(found, start)
        except NoSuchTopic:  # deleted since it was looked for
            self._subscribed = None
            return self._ends_of(self._partitions(start), start)

    def _ends_of(self, found: SubscribedPartitions, start: StreamOffset) -> StreamOffset:
        now = StreamOffset({}, found.topic_ids)
        known = {each: offset for each, offset in start.offsets.items() if not _is_new(each, start, now)}
        offsets = latest_offsets(
            self._bounds,
            found.partitions,
            known,
            retries=self._options.offset_retries,
            pause_s=self._options.offset_retry_ms / 1000,
            sleep=self._sleep,
        )
        return StreamOffset(offsets, found.topic_ids)

    def _partitions(self, start: StreamOffset) -> SubscribedPartitions:
        """What the subscription holds. A topic that was there must stay unknown for a while to be gone."""
        if self._subscribed is not None and self._now() - self._subscribed[0] < TOPICS_AGE_MAX_S:
            return self._subscribed[1]
        give_up_at = self._now() + GONE_AFTER_S
        while True:
            found = find_partitions(self._cluster, self._options.subscription)
            if set(start.offsets) <= set(found.partitions) or self._now() >= give_up_at:
                break
            self._sleep(PAUSE_S)
        self._subscribed = (self._now(), found)
        return found


def _is_new(partition: TopicPartition, start: StreamOffset, now: StreamOffset) -> bool:
    return partition not in start.offsets or start.is_recreated(partition.topic, now)


def _rows(begins: dict[TopicPartition, int], ends: StreamOffset) -> int:
    return sum(max(0, end - begins.get(partition, end)) for partition, end in ends.offsets.items())
