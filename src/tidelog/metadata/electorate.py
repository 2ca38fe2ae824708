"""Who may lead a partition: the rules that every change of a leader or an in-sync set obeys.

A replica may lead if its broker is neither fenced nor stopping and the directory that holds it is online.
A clean election takes such a replica from the in-sync set only, so nothing that was acknowledged is lost.
"""

from collections.abc import Mapping
from enum import Enum

from tidelog.base.config import BrokerConfig
from tidelog.base.ids import NodeId, Uuid
from tidelog.base.topic_config import resolve_topic
from tidelog.metadata.entities import (
    NO_LEADER,
    UNASSIGNED_DIRECTORY,
    BrokerImage,
    PartitionImage,
    TopicImage,
)

UNCLEAN_SETTING = "unclean.leader.election.enable"


class Election(Enum):
    CLEAN = "clean"
    """Keep the leader while it may lead, or take the first of the in-sync replicas that may."""
    PREFERRED = "preferred"
    """The first replica, if it is in sync and may lead; else as a clean one."""
    UNCLEAN = "unclean"
    """As a clean one, but rather a leader that misses records than none."""


class Electorate:
    """The brokers as they are once the change at hand has happened."""

    __slots__ = ("_active", "_brokers", "_config")

    def __init__(self, brokers: Mapping[NodeId, BrokerImage], config: BrokerConfig | None = None) -> None:
        self._brokers = brokers
        self._active = {broker.id: broker for broker in brokers.values() if broker.is_active}
        self._config = config or BrokerConfig()

    def may_lead(self, partition: PartitionImage, replica: NodeId) -> bool:
        broker = self._active.get(replica)
        return broker is not None and broker.has_online(partition.directory_of(replica))

    def may_stay(self, partition: PartitionImage, replica: NodeId) -> bool:
        """A leader that is stopping goes on until another may lead: better a late farewell than no leader."""
        broker = self._brokers.get(replica)
        return broker is not None and not broker.fenced and broker.has_online(partition.directory_of(replica))

    def is_stopping(self, replica: NodeId) -> bool:
        broker = self._brokers.get(replica)
        return broker is not None and broker.shutting_down

    def directory_for_new_replica(self, broker_id: NodeId) -> Uuid:
        broker = self._brokers.get(broker_id)
        return UNASSIGNED_DIRECTORY if broker is None else broker.directory_for_new_replica()

    def election_for(self, topic: TopicImage) -> Election:
        """What the topic's own setting, or the one it inherits, asks for when a leader is gone."""
        if UNCLEAN_SETTING in topic.configs:
            unclean = resolve_topic(topic.configs, self._config).bool(UNCLEAN_SETTING)
        else:
            unclean = bool(self._config.topic_defaults[UNCLEAN_SETTING])
        return Election.UNCLEAN if unclean else Election.CLEAN

    def elect(
        self,
        partition: PartitionImage,
        replicas: tuple[NodeId, ...],
        isr: tuple[NodeId, ...],
        election: Election = Election.CLEAN,
    ) -> NodeId:
        """The leader of a partition that is about to have these replicas and this in-sync set.

        The result is in `isr`, or it is NO_LEADER, or the election was unclean.
        """
        clean = [replica for replica in replicas if replica in isr and self.may_lead(partition, replica)]
        if election is Election.PREFERRED and clean and clean[0] == replicas[0]:
            return clean[0]
        if partition.leader in clean:
            return partition.leader
        if clean:
            return clean[0]
        stays = partition.leader in isr and partition.leader in replicas
        if stays and self.may_stay(partition, partition.leader):
            return partition.leader
        if election is Election.UNCLEAN:
            for replica in replicas:
                if self.may_lead(partition, replica):
                    return replica
        return NO_LEADER
