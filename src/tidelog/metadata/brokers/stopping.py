"""Whether a broker may be stopped now: which partitions and which voters keep it from that.

It may when every partition keeps a leader and as many in-sync replicas as acks=all needs, and the quorum
keeps a majority of voters that follow. The answer holds for this moment and for one broker: stop brokers one
by one.
"""

from collections.abc import Collection, Iterable, Iterator
from enum import IntEnum
from operator import attrgetter

import msgspec

from tidelog.base.config.config import BrokerConfig
from tidelog.base.ids import NodeId
from tidelog.metadata.brokers.registration_rules import check_registered
from tidelog.metadata.image.entities import BrokerImage, PartitionImage, TopicImage
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.leaders.election_rules import ElectionRules


class StopRule(IntEnum):
    """As on the wire."""

    KEEPS_LEADER = 1
    """Another in-sync replica can lead the partition."""
    KEEPS_MIN_IN_SYNC = 2
    """Enough replicas remain in sync for acks=all."""
    CATCHES_UP = 3
    """The partition has too few in-sync replicas already, and this broker's replica is about to join them."""
    KEEPS_QUORUM = 4
    """A majority of the voters remains, and follows."""


class StopObstacle(msgspec.Struct, frozen=True):
    """One rule that the stop would break, for one partition or for the quorum."""

    rule: StopRule
    have: int
    """In-sync replicas, or voters, that would remain."""
    needed: int
    topic: str | None = None
    partition: int = -1
    unavoidable: bool = False
    """No waiting helps: the partition has too few replicas, or the quorum too few voters, with all up."""


class FollowingVoters(msgspec.Struct, frozen=True):
    """The voters of the quorum, and those of them that are up and follow, its leader included."""

    voters: Collection[NodeId]
    following: Collection[NodeId]


def obstacles_to_stop(
    image: ClusterImage, broker_id: NodeId, quorum: FollowingVoters, config: BrokerConfig | None = None
) -> list[StopObstacle]:
    """Returns what forbids to stop the broker now, if anything. KafkaError for an unknown broker."""
    return [one for one in look_for_obstacles(image, broker_id, quorum, config) if one is not None]


def look_for_obstacles(
    image: ClusterImage, broker_id: NodeId, quorum: FollowingVoters, config: BrokerConfig | None = None
) -> Iterator[StopObstacle | None]:
    """As `obstacles_to_stop`, with None for a partition that is no obstacle: a caller can look in turns."""
    broker = check_registered(image, broker_id)
    yield from _of_quorum(broker_id, quorum)
    if broker.fenced:
        return  # it leads nothing and is in no in-sync set that anything is left of
    leaving: BrokerImage = msgspec.structs.replace(broker, shutting_down=True)
    rules = ElectionRules.of(image, config, leaving)
    for topic, partition in image.partitions():
        is_here = broker_id in partition.replicas
        yield _of_partition(topic, partition, broker_id, rules) if is_here else None


def avoidable_first(obstacles: Iterable[StopObstacle]) -> list[StopObstacle]:
    """For a list that is shortened: without an avoidable one in what remains, there is none at all."""
    return sorted(obstacles, key=attrgetter("unavoidable"))


def _of_quorum(broker_id: NodeId, quorum: FollowingVoters) -> list[StopObstacle]:
    if broker_id not in quorum.voters or broker_id not in quorum.following:
        return []
    needed = len(quorum.voters) // 2 + 1
    have = len(set(quorum.following) & set(quorum.voters) - {broker_id})
    if have >= needed:
        return []
    unavoidable = len(quorum.voters) - 1 < needed
    return [StopObstacle(StopRule.KEEPS_QUORUM, have, needed, unavoidable=unavoidable)]


def _of_partition(
    topic: TopicImage, partition: PartitionImage, broker_id: NodeId, rules: ElectionRules
) -> StopObstacle | None:
    needed = rules.needed_in_sync(topic, partition.replicas)
    others = len(partition.replicas) - 1
    unavoidable = others < needed
    remaining = [id for id in partition.isr if id != broker_id and rules.may_lead(partition, id)]
    if partition.leader == broker_id and not remaining:
        rule, unavoidable = StopRule.KEEPS_LEADER, not others  # any other replica can lead once it is in sync
    elif len(remaining) >= needed:
        return None
    elif broker_id in partition.isr:
        rule = StopRule.KEEPS_MIN_IN_SYNC
    elif not rules.may_stay(partition, broker_id):
        return None  # its log dir failed: the replica catches up after the broker's restart at the earliest
    else:
        rule, unavoidable = StopRule.CATCHES_UP, False
    return StopObstacle(rule, len(remaining), needed, topic.name, partition.index, unavoidable)
