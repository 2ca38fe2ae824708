"""Which replica may lead a partition: the rules for every change of a leader or an in-sync set.

A replica may lead if its broker is neither fenced nor stopping and the directory that holds it is online.
A clean election takes such a replica from the in-sync set, or where none of that may lead, from the
eligible leader replicas (ELR, KIP-966), which hold all below the high watermark. So nothing that was
acknowledged is lost.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from tidelog.base.config.config import BrokerConfig
from tidelog.base.config.topic_config import topic_setting
from tidelog.base.ids import NodeId, Uuid
from tidelog.metadata.image.entities import (
    NO_LEADER,
    UNASSIGNED_DIRECTORY,
    BrokerImage,
    PartitionImage,
    TopicImage,
)
from tidelog.metadata.image.image import ClusterImage

UNCLEAN_SETTING = "unclean.leader.election.enable"
MIN_INSYNC_SETTING = "min.insync.replicas"


class Election(Enum):
    CLEAN = "clean"
    """Keep the leader while it may lead, or take the first of the in-sync replicas that may."""
    PREFERRED = "preferred"
    """The first replica, if it is in sync and may lead; else as a clean one."""
    UNCLEAN = "unclean"
    """As a clean one, but a leader that misses records is better than none."""


class Candidates(NamedTuple):
    """The replicas of a partition as they are about to be, from the most trusted to the least."""

    replicas: tuple[NodeId, ...]
    isr: tuple[NodeId, ...]
    elr: tuple[NodeId, ...] = ()
    last_known: tuple[NodeId, ...] = ()
    """The last leader of a partition that has lost all it could trust; taking it again is unclean."""


class ElectionRules:
    """The rules, applied to the brokers as they will be after the change at hand."""

    __slots__ = ("_active", "_brokers", "_config", "has_elr")

    def __init__(
        self,
        brokers: Mapping[NodeId, BrokerImage],
        config: BrokerConfig | None = None,
        *,
        has_elr: bool = False,
    ) -> None:
        self._brokers = brokers
        self._active = {broker.id: broker for broker in brokers.values() if broker.is_active}
        self._config = config or BrokerConfig()
        self.has_elr = has_elr
        """Whether the cluster keeps eligible leader replicas."""

    @classmethod
    def of(
        cls, image: ClusterImage, config: BrokerConfig | None = None, *changed: BrokerImage
    ) -> "ElectionRules":
        """With the brokers of the image, but for those that change."""
        brokers = {**image.brokers, **{broker.id: broker for broker in changed}} if changed else image.brokers
        return cls(brokers, config, has_elr=image.has_elr)

    def may_lead(self, partition: PartitionImage, replica: NodeId) -> bool:
        broker = self._active.get(replica)
        return broker is not None and broker.has_online(partition.directory_of(replica))

    def may_stay(self, partition: PartitionImage, replica: NodeId) -> bool:
        """A stopping leader stays until another replica may lead: better a late shutdown than no leader."""
        broker = self._brokers.get(replica)
        return broker is not None and not broker.fenced and broker.has_online(partition.directory_of(replica))

    def is_stopping(self, replica: NodeId) -> bool:
        broker = self._brokers.get(replica)
        return broker is not None and broker.shutting_down

    def directory_for_new_replica(self, broker_id: NodeId) -> Uuid:
        broker = self._brokers.get(broker_id)
        return UNASSIGNED_DIRECTORY if broker is None else broker.directory_for_new_replica()

    def election_for(self, topic: TopicImage) -> Election:
        """The kind of election that the topic's own or inherited setting allows when the leader is lost."""
        unclean = topic_setting(UNCLEAN_SETTING, topic.configs, self._config)
        return Election.UNCLEAN if unclean else Election.CLEAN

    def needed_in_sync(self, topic: TopicImage, replicas: Sequence[NodeId]) -> int:
        """The leader's minimum: with fewer replicas in sync, the high watermark does not move."""
        wanted = topic_setting(MIN_INSYNC_SETTING, topic.configs, self._config)
        return min(int(wanted), len(replicas)) if isinstance(wanted, int) else 1

    def elect(
        self, partition: PartitionImage, candidates: Candidates, election: Election = Election.CLEAN
    ) -> NodeId:
        """The leader of a partition that is about to have these candidates.

        The result is in the in-sync set or eligible, or it is NO_LEADER, or the election was unclean.
        """
        replicas, isr, elr, last_known = candidates
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
        for replica in replicas:
            if replica in elr and self.may_lead(partition, replica):
                return replica
        if not isr and not elr and last_known and self.may_lead(partition, last_known[0]):
            return last_known[0]
        if election is Election.UNCLEAN:
            for replica in replicas:
                if self.may_lead(partition, replica):
                    return replica
        return NO_LEADER
