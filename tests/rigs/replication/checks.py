"""What must hold between the replicas of a partition at any time, whatever happened to them."""

from dataclasses import dataclass, field

from tests.rigs.replication.controller import Controller
from tidelog.base.ids import Epoch, NodeId, Offset
from tidelog.replication.partition import Durability, IsrProposal, Partition
from tidelog.storage.flush import Flush
from tidelog.storage.log import PartitionLog
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.batch import iter_batches


class Broken(AssertionError):
    """A guarantee does not hold."""


@dataclass
class Node:
    id: NodeId
    disk: MemoryDisk
    partition: Partition
    broker_epoch: Epoch
    is_up: bool = True
    applied: int = 0
    """Of the metadata log."""
    recovery_checkpoint: Offset = 0
    mark_checkpoint: Offset = 0
    start_checkpoint: Offset = 0
    flush: Flush | None = None
    proposal: IsrProposal | None = None
    synced_to: Offset = 0
    """Known to the model also after a crash, of which a log only knows what was checkpointed."""
    visible_to: Offset = 0
    """How far its high watermark was checked."""
    marks: dict[str, Offset] = field(default_factory=dict)


class ReplicationChecks:
    """Remembers what was ever readable and what was acknowledged; raises Broken where that does not hold."""

    def __init__(self, controller: Controller, durability: Durability) -> None:
        self.controller = controller
        self.durability = durability
        self.nodes: dict[NodeId, Node] = {}
        self.visible: dict[Offset, bytes] = {}
        """Every batch that was ever below a high watermark, by base offset."""
        self.acked: dict[Offset, bytes] = {}

    def check(self) -> None:
        for node in self.nodes.values():
            if node.is_up:
                self._check_offsets(node)
                self._check_visible(node)

    def _check_offsets(self, node: Node) -> None:
        log, mark = node.partition.log, node.partition.high_watermark
        if not log.start <= mark <= log.end:
            raise Broken(f"{node.partition}: start, high watermark and end are out of order")
        for name, value in (("start", log.start), ("high watermark", mark)):
            if value < node.marks.get(name, 0):
                raise Broken(f"{node.partition}: its {name} was {node.marks[name]}")
            node.marks[name] = value
        image = self.controller.image
        if node.id == image.leader and node.partition.leader_epoch == image.leader_epoch:
            seen = max(self.visible, default=-1)
            if log.end <= seen:
                raise Broken(f"{node.partition} leads without offset {seen}, which was readable")

    def _check_visible(self, node: Node) -> None:
        """Replicas are the same below their high watermarks, and stay so."""
        partition = node.partition
        if partition.high_watermark > node.visible_to:
            start = max(node.visible_to, partition.log.start)
            for offset, batch in batches(partition.log, start, partition.high_watermark):
                known = self.visible.setdefault(offset, batch)
                if known != batch:
                    raise Broken(f"{partition}: offset {offset} differs from what was readable before")
            node.visible_to = partition.high_watermark

    def check_acknowledged(self) -> None:
        """What was acknowledged is on all that may lead cleanly, and synced where that is promised."""
        for id in (*self.controller.image.isr, *self.controller.image.elr):
            node = self.nodes[id]
            log = node.partition.log
            if not node.is_up:
                continue  # looked at when it is back
            held = dict(batches(log, log.start, log.end))
            for offset, batch in self.acked.items():
                if offset < log.start:
                    continue
                if held.get(offset) != batch:
                    raise Broken(f"{node.partition} may lead without the acknowledged offset {offset}")
                if self.durability is Durability.FSYNC and node.synced_to <= offset:
                    raise Broken(f"{node.partition} has not synced the acknowledged offset {offset}")


def batches(log: PartitionLog, start: Offset, end: Offset) -> list[tuple[Offset, bytes]]:
    """Those that begin from `start` on and end at or below `end`."""
    found = []
    offset = start
    while offset < end and (read := log.read(offset, 1 << 20, end=end)) is not None:
        data = memoryview(read.slice.read())
        for position, header in iter_batches(data):
            offset = header.next_offset
            if header.base_offset >= start and offset <= end:
                found.append((header.base_offset, bytes(data[position : position + header.size])))
    return found
