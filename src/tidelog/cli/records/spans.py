"""From positions to offsets: which range of which partition is to be read."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.cli.connection import Cluster
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.records.positions import Anchor, Position
from tidelog.cli.topic.admin import partition_ids, topic_error

ATTEMPT_S = 3.0
"""Longer than an answer takes, and shorter than a person waits for a leader that has died."""


@dataclass(frozen=True, slots=True)
class Span:
    """What is to be read of one partition: [start, end); without end when end is None."""

    partition: int
    start: int
    end: int | None


@dataclass(frozen=True, slots=True)
class Bounds:
    low: int
    high: int


def plan(
    lookup: "OffsetLookup", wanted: Sequence[int], start: Position, until: Position | None, *, follow: bool
) -> list[Span]:
    """Ask the broker for the bounds and resolve both positions in every wanted partition."""
    lows, highs = lookup.edge("earliest", wanted), lookup.edge("latest", wanted)
    starts = lookup.by_time(start, wanted)
    ends = lookup.by_time(until, wanted) if until else {}
    spans = []
    for partition in wanted:
        bounds = Bounds(lows[partition], highs[partition])
        first = check_start(resolve(start, bounds, starts.get(partition)), bounds, lookup.topic, partition)
        last = None if follow else bounds.high
        if until is not None:
            # An end that lies ahead is worth waiting for, but only when told to follow.
            target = resolve(until, bounds, ends.get(partition))
            last = target if follow else min(target, bounds.high)
        if last is None or first < last:
            spans.append(Span(partition, first, last))
    return spans


def wanted_partitions(cluster: Cluster, topic: str, partitions: Sequence[int]) -> list[int]:
    existing = partition_ids(cluster, topic)
    for partition in partitions:
        if partition not in existing:
            raise CliError(
                f"Topic '{topic}' has no partition {partition}; it has 0 to {len(existing) - 1}.",
                attempt=f"tidelog topic describe {topic}",
                code=Exit.NOT_FOUND,
            )
    return sorted(set(partitions)) or existing


def resolve(position: Position, bounds: Bounds, by_time: int | None) -> int:
    """The offset a position means in one partition. `by_time` is the first offset at or after its time."""
    match position.anchor:
        case Anchor.BEGINNING:
            return bounds.low
        case Anchor.END:
            return bounds.high
        case Anchor.LAST:
            return max(bounds.low, bounds.high - position.number)
        case Anchor.TIME:
            return bounds.high if by_time is None else by_time
        case Anchor.OFFSET:
            return position.number


def check_start(start: int, bounds: Bounds, topic: str, partition: int) -> int:
    if bounds.low <= start <= bounds.high:
        return start
    raise CliError(
        f"Offset {start} is not in {topic}[{partition}]: "
        f"it holds {bounds.low} up to, not including, {bounds.high}.",
        cause="retention removed the older records." if start < bounds.low else "it is not written yet.",
        attempt=f"tidelog consume {topic} --partition {partition} --from beginning",
        code=Exit.REFUSED,
    )


class OffsetLookup:
    """ListOffsets for many partitions of one topic in one call."""

    def __init__(self, cluster: Cluster, topic: str, isolation: str) -> None:
        self.cluster = cluster
        self.topic = topic
        self.isolation = isolation

    def edge(self, name: str, partitions: Sequence[int]) -> dict[int, int]:
        from confluent_kafka.admin import OffsetSpec

        return self._list(getattr(OffsetSpec, name)(), partitions)

    def by_time(self, position: Position, partitions: Sequence[int]) -> dict[int, int]:
        """Only for positions that are times; a partition without a record that late is left out."""
        if position.anchor is not Anchor.TIME:
            return {}
        from confluent_kafka.admin import OffsetSpec

        found = self._list(OffsetSpec.for_timestamp(position.number), partitions)
        return {partition: offset for partition, offset in found.items() if offset >= 0}

    def _list(self, spec: Any, partitions: Sequence[int]) -> dict[int, int]:
        """Asks again while a leader is silent: another broker may lead by then."""
        deadline = time.monotonic() + self.cluster.session.timeout_s
        while True:
            left = max(deadline - time.monotonic(), 0.1)
            try:
                return self._list_once(spec, partitions, min(left, ATTEMPT_S))
            except CliError as error:
                if error.code is not Exit.TIMED_OUT or left <= ATTEMPT_S:
                    raise

    def _list_once(self, spec: Any, partitions: Sequence[int], timeout_s: float) -> dict[int, int]:
        from confluent_kafka import OFFSET_INVALID, IsolationLevel, KafkaError, TopicPartition

        answers = self.cluster.ask(
            self.cluster.admin.list_offsets,
            {TopicPartition(self.topic, partition): spec for partition in partitions},
            isolation_level=getattr(IsolationLevel, self.isolation.upper()),
            timeout_s=timeout_s,
        )
        for place, answer in answers.items():
            if isinstance(answer, KafkaError):
                raise topic_error(answer, self.topic, self.cluster.session)
            if answer.offset == OFFSET_INVALID:  # librdkafka calls it no error where no leader has answered
                raise CliError(
                    f"The leader of {self.topic}[{place.partition}] does not answer.",
                    cause="it stopped a moment ago, or advertises an address that this machine cannot reach.",
                    attempt=f"tidelog topic describe {self.topic}",
                    code=Exit.TIMED_OUT,
                )
        return {place.partition: answer.offset for place, answer in answers.items()}
