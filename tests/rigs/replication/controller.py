"""An ideal controller of one partition for the replication model: its decisions are real, and never lost."""

from typing import NamedTuple

from msgspec.structs import replace

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import Epoch, NodeId
from tidelog.metadata.image.entities import BrokerImage, PartitionImage, TopicImage
from tidelog.metadata.image.records import PartitionChanged
from tidelog.metadata.leaders.election_rules import MIN_INSYNC_SETTING, ElectionRules
from tidelog.metadata.leaders.partition_changes import partition_after
from tidelog.metadata.leaders.partition_edit import edit_partition, without
from tidelog.replication.partition import CommittedIsr, IsrProposal

NODES: tuple[NodeId, ...] = (1, 2, 3)


class MetadataUpdate(NamedTuple):
    """An entry of the metadata log."""

    image: PartitionImage
    min_insync_replicas: int


class Controller:
    """Decides at once and never fails; the brokers hear of it later."""

    def __init__(self, min_insync_replicas: int = 1, *, has_elr: bool = False) -> None:
        self.image = PartitionImage(0, NODES, NODES, NODES[0], leader_epoch=0, partition_epoch=0)
        self.log = [MetadataUpdate(self.image, min_insync_replicas)]
        self.brokers = {node: BrokerImage(node, 0, bytes(16), {}) for node in NODES}
        self._has_elr = has_elr
        self.eligible_elected = 0
        """How often a replica led that was not in sync, but eligible."""

    @property
    def min_insync_replicas(self) -> int:
        return self.log[-1].min_insync_replicas

    @property
    def fenced(self) -> list[NodeId]:
        return [broker.id for broker in self.brokers.values() if broker.fenced]

    def elect(self, wanted: NodeId) -> None:
        if wanted in self.image.isr and wanted not in self.fenced and wanted != self.image.leader:
            old = self.image
            self._decide(
                PartitionChanged(
                    "", 0, old.partition_epoch + 1, leader=wanted, leader_epoch=old.leader_epoch + 1
                )
            )

    def fence(self, node: NodeId) -> None:
        if node not in self.fenced:
            self.brokers[node] = replace(self.brokers[node], fenced=True)
            self._edit(isr=without(self.image.isr, (node,)))

    def register(self, node: NodeId, *, is_doubted: bool) -> Epoch:
        """`is_doubted`: it crashed without having synced what it acknowledged."""
        self.fence(node)
        if is_doubted and self._has_elr:
            self._edit(isr=without(self.image.isr, (node,)), doubted=(node,))
        self.brokers[node] = replace(self.brokers[node], fenced=False, epoch=self.brokers[node].epoch + 1)
        self._edit()
        return self.brokers[node].epoch

    def set_min_insync(self, minimum: int) -> None:
        self.log.append(MetadataUpdate(self.image, minimum))
        self._edit()  # part of the same entry in truth, so that no broker hears of the one without the other
        if len(self.log) > 1 and self.log[-2].image is not self.log[-1].image:
            del self.log[-2]

    def is_eligible(self, node: NodeId) -> bool:
        return node not in self.fenced

    def alter(self, sender: NodeId, proposal: IsrProposal) -> ErrorCode | CommittedIsr:
        image = self.image
        if proposal.leader_epoch != image.leader_epoch or sender != image.leader:
            return ErrorCode.FENCED_LEADER_EPOCH
        if proposal.partition_epoch != image.partition_epoch:
            return ErrorCode.INVALID_UPDATE_VERSION
        for node, epoch in zip(proposal.isr, proposal.broker_epochs, strict=True):
            if node in self.fenced or epoch not in (-1, self.brokers[node].epoch):
                return ErrorCode.INELIGIBLE_REPLICA
        self._edit(isr=proposal.isr)
        return CommittedIsr(self.image.leader_epoch, self.image.isr, self.image.partition_epoch)

    def _edit(self, isr: tuple[NodeId, ...] | None = None, doubted: tuple[NodeId, ...] = ()) -> None:
        topic = TopicImage("orders", bytes(16), configs={MIN_INSYNC_SETTING: str(self.min_insync_replicas)})
        rules = ElectionRules(self.brokers, has_elr=self._has_elr)
        record = edit_partition(topic, self.image, rules, isr=isr, doubted=doubted)
        if record is not None:
            self._decide(record)

    def _decide(self, record: PartitionChanged) -> None:
        self.eligible_elected += record.leader in self.image.elr
        self.image = partition_after(self.image, record)
        self.log.append(MetadataUpdate(self.image, self.min_insync_replicas))
