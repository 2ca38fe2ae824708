"""Positions to numbers: what exists now, and which offsets the options mean there."""

import re
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from tidelog.blocking.cluster import Cluster, Topic, TopicPartition
from tidelog.blocking.errors import NoSuchTopic
from tidelog.blocking.log_bounds import LogBounds
from tidelog.spark.errors import OptionError
from tidelog.spark.source.options import Subscription
from tidelog.spark.source.positions import Position


@dataclass(frozen=True)
class SubscribedPartitions:
    """The partitions a subscription holds now, and the ids of their topics."""

    partitions: tuple[TopicPartition, ...]
    topic_ids: Mapping[str, bytes]
    missing: tuple[str, ...] = ()
    """Topics that are named and do not exist."""

    def require_all(self) -> None:
        if self.missing:
            names = ", ".join(self.missing)
            raise NoSuchTopic(f"there is no topic {names}. Try: tidelog topic create {self.missing[0]}")


def find_partitions(cluster: Cluster, subscription: Subscription) -> SubscribedPartitions:
    if subscription.pattern is not None:
        pattern = re.compile(subscription.pattern)
        topics = [topic for topic in cluster.topics().values() if not topic.is_internal]
        return _subscribed([topic for topic in topics if pattern.fullmatch(topic.name)])
    names = subscription.topics or {partition.topic for partition in subscription.partitions}
    existing = cluster.topics(names)
    missing = tuple(sorted(set(names) - set(existing)))
    found = _subscribed(existing.values(), missing)
    if not subscription.partitions:
        return found
    there = set(found.partitions)
    absent = tuple(
        str(each) for each in subscription.partitions if each not in there and each.topic in existing
    )
    kept = tuple(each for each in subscription.partitions if each in there)
    return SubscribedPartitions(kept, found.topic_ids, missing + absent)


def _subscribed(topics: Collection[Topic], missing: tuple[str, ...] = ()) -> SubscribedPartitions:
    partitions = [TopicPartition(topic.name, index) for topic in topics for index in topic.leaders]
    return SubscribedPartitions(
        tuple(sorted(partitions)), {topic.name: topic.id for topic in topics}, missing
    )


def resolve(
    position: Position, partitions: Collection[TopicPartition], bounds: LogBounds
) -> dict[TopicPartition, int]:
    """The offset that a position means in each partition, asked of the brokers where it is not a number."""
    if position.everywhere is not None:
        return bounds.at_times(dict.fromkeys(partitions, position.everywhere))
    if position.time_ms is not None:
        return _at_times(position, dict.fromkeys(partitions, position.time_ms), bounds)
    if position.times_ms:
        _check_names_all(position.option, position.times_ms, partitions)
        return _at_times(position, position.times_ms, bounds)
    _check_names_all(position.option, position.offsets, partitions)
    words = {partition: offset for partition, offset in position.offsets.items() if offset < 0}
    return {**position.offsets, **bounds.at_times(words)}


def _at_times(
    position: Position, times: Mapping[TopicPartition, int], bounds: LogBounds
) -> dict[TopicPartition, int]:
    found = bounds.at_times(times)
    too_late = [partition for partition, offset in found.items() if offset < 0]
    if too_late and not position.latest_if_too_late:
        names = ", ".join(f"{partition} from {times[partition]} ms on" for partition in sorted(too_late))
        raise OptionError(
            f"{position.option}: there is no record in {names}. Choose an earlier time, or set "
            "startingOffsetsByTimestampStrategy to latest"
        )
    return {**found, **bounds.latest(too_late)}


def _check_names_all(
    option: str, named: Collection[TopicPartition], partitions: Collection[TopicPartition]
) -> None:
    if set(named) == set(partitions):
        return
    lacking = ", ".join(map(str, sorted(set(partitions) - set(named)))) or "none"
    strange = ", ".join(map(str, sorted(set(named) - set(partitions)))) or "none"
    raise OptionError(
        f"{option} must name every partition that is read, and no other; "
        f"missing: {lacking}; not read: {strange}"
    )


def latest_offsets(
    bounds: LogBounds,
    partitions: Collection[TopicPartition],
    known: Mapping[TopicPartition, int],
    *,
    retries: int,
    pause_s: float,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[TopicPartition, int]:
    """Where the logs end. An end below what was `known` is asked for again: a new leader may not know yet
    how far its followers are. If it stays there, the log was cut."""
    found = bounds.latest(partitions)
    for _ in range(retries):
        backwards = [partition for partition, end in found.items() if end < known.get(partition, 0)]
        if not backwards:
            break
        sleep(pause_s)
        found.update(bounds.latest(backwards))
    return found
