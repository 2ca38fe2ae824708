"""An ideal controller of one partition for the replication model: it decides at once and never fails."""

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import Epoch, NodeId
from tidelog.metadata.entities import NO_LEADER, PartitionImage
from tidelog.replication.partition import CommittedIsr, IsrProposal

NODES: tuple[NodeId, ...] = (1, 2, 3)


class Controller:
    """Decides at once and never fails; the brokers hear of it later."""

    def __init__(self) -> None:
        self.image = PartitionImage(0, NODES, NODES, NODES[0], leader_epoch=0, partition_epoch=0)
        self.log = [self.image]
        self.broker_epochs: dict[NodeId, Epoch] = dict.fromkeys(NODES, 0)
        self.fenced: dict[NodeId, None] = {}

    def _change(self, isr: tuple[NodeId, ...], leader: NodeId) -> None:
        old = self.image
        is_new = leader != old.leader
        self.image = PartitionImage(
            0,
            NODES,
            isr,
            leader,
            leader_epoch=old.leader_epoch + is_new,
            partition_epoch=old.partition_epoch + 1,
        )
        self.log.append(self.image)

    def elect(self, wanted: NodeId | None = None) -> None:
        able = [node for node in self.image.isr if node not in self.fenced]
        if wanted in able:
            able = [wanted]
        self._change(self.image.isr, able[0] if able else NO_LEADER)

    def fence(self, node: NodeId) -> None:
        if node in self.fenced:
            return
        self.fenced[node] = None
        isr = tuple(other for other in self.image.isr if other != node) or self.image.isr
        leader = self.image.leader
        if leader == node:
            able = [other for other in isr if other not in self.fenced]
            leader = able[0] if able else NO_LEADER
        if (isr, leader) != (self.image.isr, self.image.leader):
            self._change(isr, leader)

    def register(self, node: NodeId) -> Epoch:
        self.fence(node)
        self.broker_epochs[node] += 1
        del self.fenced[node]
        if self.image.leader == NO_LEADER:
            self.elect()
        return self.broker_epochs[node]

    def is_eligible(self, node: NodeId) -> bool:
        return node not in self.fenced

    def alter(self, sender: NodeId, proposal: IsrProposal) -> ErrorCode | CommittedIsr:
        image = self.image
        if proposal.leader_epoch != image.leader_epoch or sender != image.leader:
            return ErrorCode.FENCED_LEADER_EPOCH
        if proposal.partition_epoch != image.partition_epoch:
            return ErrorCode.INVALID_UPDATE_VERSION
        for node, epoch in zip(proposal.isr, proposal.broker_epochs, strict=True):
            if node in self.fenced or epoch not in (-1, self.broker_epochs[node]):
                return ErrorCode.INELIGIBLE_REPLICA
        self._change(proposal.isr, image.leader)
        return CommittedIsr(self.image.leader_epoch, self.image.isr, self.image.partition_epoch)
