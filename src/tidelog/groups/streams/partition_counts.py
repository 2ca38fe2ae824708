"""How many partitions the internal topics of a topology must have, given the topics that exist.

A repartition topic has as many as the application says; or as those it is joined with; or else as many as the
largest topic that the subtopology reads which writes it. A changelog has one for each task.
"""

from collections.abc import Callable, Iterator, Mapping
from heapq import heappop, heappush

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.groups.record_formats.streams_group import Topology
from tidelog.groups.streams.messages import Status, StatusCode
from tidelog.groups.streams.topology import inputs, is_fixed
from tidelog.wire.messages.streams_group_heartbeat import CopartitionGroup, Subtopology

Count = Callable[[str], int | None]
"""The number of partitions that a topic has; None where there is no such topic."""


class NotConfigurable(Exception):
    """The topics that exist do not fit the topology."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.detail)
        self.status = status


def decide_counts(topology: Topology, existing: Count) -> dict[str, int]:
    """For every internal topic. All topics that come from outside are there."""
    decided = _repartition_counts(topology, existing)

    def count(topic: str) -> int:
        found = existing(topic)
        return decided[topic] if found is None else found

    sources = [topic for part in topology.subtopologies for topic in part.repartition_source_topics]
    repartition = {topic.name for topic in sources}
    fixed = {topic.name: topic.partitions for topic in sources if is_fixed(topic)}
    for part in topology.subtopologies:
        for group in part.copartition_groups:
            names = dict.fromkeys(_members(part, group))
            inside = {name: count(name) for name in names if name in repartition}
            outside = {name: count(name) for name in names if name not in repartition}
            decided |= _copartitioned(inside, outside, {name: fixed[name] for name in names if name in fixed})
    for part in topology.subtopologies:
        tasks = max(map(count, inputs(part)))
        decided |= {topic.name: tasks for topic in part.state_changelog_topics}
    return decided


def number_of_tasks(part: Subtopology, existing: Count, decided: Mapping[str, int]) -> int:
    def count(topic: str) -> int:
        found = existing(topic)
        return decided[topic] if found is None else found

    return max(map(count, inputs(part)))


def check_resolvable(topology: Topology) -> None:
    """KafkaError where the counts could not be found, whatever topics exist: that does not depend on them."""
    _repartition_counts(topology, lambda _: 1)


def _repartition_counts(topology: Topology, existing: Count) -> dict[str, int]:
    """From what the parts read to what they write, as often as that tells something new.

    In rounds through all parts in their order, as Kafka does it; but a part that could not be counted is
    looked at again only when it can be, since a long chain would take as many rounds as it has parts.
    """
    parts = topology.subtopologies
    sources = [topic for part in parts for topic in part.repartition_source_topics]
    counts = {topic.name: topic.partitions for topic in sources if is_fixed(topic)}
    readers: dict[str, list[int]] = {}
    for place, part in enumerate(parts):
        for topic in part.repartition_source_topics:
            readers.setdefault(topic.name, []).append(place)
    queue = [(1, place) for place in range(len(parts))]
    waiting: set[int] = set()
    while queue:
        number, place = heappop(queue)
        part = parts[place]
        if not _count_sinks(part, existing, counts):
            waiting.add(place)
            continue
        for sink in part.repartition_sink_topics:
            for reader in readers.pop(sink, ()):
                if reader in waiting:
                    waiting.remove(reader)
                    heappush(queue, (number if reader > place else number + 1, reader))
    if waiting:
        raise _invalid("There may be loops in the topology that cannot be resolved.")
    if any(topic.name not in counts for topic in sources):
        raise _invalid("A repartition source topic is never used as a sink topic.")
    return counts


def _count_sinks(part: Subtopology, existing: Count, counts: dict[str, int]) -> bool:
    """Whether nothing that this part writes is left uncounted."""
    wanted = [topic for topic in part.repartition_sink_topics if topic not in counts]
    if not wanted:
        return True
    own = [counts.get(topic.name) for topic in part.repartition_source_topics]
    known = [number for number in (*own, *map(existing, part.source_topics)) if number is not None]
    if not known:
        return False
    counts |= dict.fromkeys(wanted, max(known))
    return True


def _copartitioned(
    repartition: Mapping[str, int], external: Mapping[str, int], fixed: Mapping[str, int]
) -> dict[str, int]:
    """The counts of the repartition topics in a group of topics that must have as many partitions each."""
    if not repartition and not external:
        return {}
    wanted = _same(external or fixed) if external or fixed else max(repartition.values())
    for name, number in sorted(fixed.items()):
        if number != wanted:
            raise _wrong(
                f"Number of partitions [{number}] of repartition topic [{name}] doesn't match number of "
                f"partitions [{wanted}] of the source topic."
            )
    return dict.fromkeys(repartition, wanted)


def _members(part: Subtopology, group: CopartitionGroup) -> Iterator[str]:
    for index in group.source_topics:
        yield part.source_topics[index]
    for index in group.repartition_source_topics:
        yield part.repartition_source_topics[index].name


def _same(counts: Mapping[str, int]) -> int:
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name}={number}" for name, number in sorted(counts.items()))
        raise _wrong(f"Following topics do not have the same number of partitions: [{{{listed}}}]")
    return next(iter(counts.values()))


def _wrong(why: str) -> NotConfigurable:
    return NotConfigurable(Status(StatusCode.INCORRECTLY_PARTITIONED_TOPICS, why))


def _invalid(why: str) -> KafkaError:
    failed = "Failed to compute number of partitions for all repartition topics."
    return KafkaError(ErrorCode.STREAMS_INVALID_TOPOLOGY, f"{failed} {why}")
