"""Which replicas are on the move, and the requests that start and cancel their moves."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

from tidelog.base.errors import ErrorCode
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.refusals import refusal
from tidelog.cli.exits import CliError
from tidelog.clients.records import TopicPartition

Assignment = Mapping[TopicPartition, tuple[int, ...]]
"""The brokers that shall hold a partition; the first is its preferred leader."""


@dataclass(frozen=True, slots=True)
class Ongoing:
    """A partition on the move. `replicas` are all that hold it now, those that come and those that go too."""

    place: TopicPartition
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]

    @property
    def target(self) -> tuple[int, ...]:
        return tuple(id for id in self.replicas if id not in self.removing)


def list_reassignments(
    cluster: DirectCluster, places: Iterable[TopicPartition] | None = None
) -> dict[TopicPartition, Ongoing]:
    """Of these partitions, or of all."""
    from tidelog.wire.messages import list_partition_reassignments as wire

    wanted = None
    if places is not None:
        wanted = [
            wire.ListPartitionReassignmentsTopics(name=topic, partition_indexes=numbers)
            for topic, numbers in _by_topic(places)
        ]
        if not wanted:
            return {}
    request = wire.ListPartitionReassignmentsRequest(
        timeout_ms=_milliseconds(cluster.session.timeout_s), topics=wanted
    )
    answer = cluster.ask(request)
    if answer.error_code and answer.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        raise refusal(answer.error_code, answer.error_message, "The moves in progress cannot be listed")
    found = [
        Ongoing(
            TopicPartition(topic.name, part.partition_index),
            tuple(part.replicas),
            tuple(part.adding_replicas),
            tuple(part.removing_replicas),
        )
        for topic in answer.topics
        for part in topic.partitions
    ]
    return {move.place: move for move in sorted(found, key=lambda move: move.place)}


def alter_reassignments(
    cluster: DirectCluster, wanted: Mapping[TopicPartition, tuple[int, ...] | None]
) -> dict[TopicPartition, CliError]:
    """Start moves, or cancel those of the partitions whose new replicas are None; gives what was refused."""
    from tidelog.wire.messages import alter_partition_reassignments as wire

    topics = [
        wire.ReassignableTopic(
            name=topic,
            partitions=[
                wire.ReassignablePartition(
                    partition_index=number, replicas=_listed(wanted[TopicPartition(topic, number)])
                )
                for number in numbers
            ],
        )
        for topic, numbers in _by_topic(wanted)
    ]
    request = wire.AlterPartitionReassignmentsRequest(
        timeout_ms=_milliseconds(cluster.session.timeout_s), topics=topics
    )
    answer = cluster.ask(request)
    if answer.error_code:
        raise refusal(answer.error_code, answer.error_message, "The replicas were not moved")
    refused = {}
    for topic in answer.responses:
        for part in topic.partitions:
            if part.error_code:
                place = TopicPartition(topic.name, part.partition_index)
                refused[place] = refusal(part.error_code, part.error_message, str(place))
    return refused


def _listed(replicas: tuple[int, ...] | None) -> list[int] | None:
    return None if replicas is None else list(replicas)


def _by_topic(places: Iterable[TopicPartition]) -> list[tuple[str, list[int]]]:
    grouped = groupby(sorted(places), key=lambda place: place.topic)
    return [(topic, [place.partition for place in found]) for topic, found in grouped]


def _milliseconds(seconds: float) -> int:
    return max(1, int(seconds * 1000))
