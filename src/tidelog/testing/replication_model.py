"""Three replicas of one partition under random faults: real partitions and logs, everything else a model.

The controller is an ideal one, the network loses, repeats and reorders, and a crash takes the page cache
where durability is `fsync`. One seed replays a run. Each step ends with the checks of what must always hold.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Epoch, NodeId, Offset
from tidelog.metadata.entities import NO_LEADER, PartitionImage
from tidelog.replication.partition import CommittedIsr, Durability, FetchPosition, IsrProposal, Partition
from tidelog.storage.flush import Flush
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.testing import log_rig
from tidelog.testing.disk import MemoryDisk
from tidelog.wire.batch import iter_batches
from tidelog.wire.record import Record, write_batch

NODES: tuple[NodeId, ...] = (1, 2, 3)
LAG_MAX = 10.0
DIRECTORY = "/data/orders-0"
CONFIG = LogConfig(
    segment_bytes=600, is_replicated=True
)  # a few batches to a segment, so that cuts cross segments


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


class Answer(NamedTuple):
    records: bytes
    high_watermark: Offset
    start: Offset


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


class ReplicationModel:
    def __init__(self, seed: int, durability: Durability, min_insync_replicas: int = 1) -> None:
        self.random = random.Random(seed)
        self.durability = durability
        self.min_insync_replicas = min_insync_replicas
        self.now = 0.0
        self.controller = Controller()
        self.network: list[Callable[[], None]] = []
        self.nodes: dict[NodeId, Node] = {}
        self.history: list[str] = []
        self.written = 0
        self.visible: dict[Offset, bytes] = {}
        """Every batch that was ever below a high watermark, by base offset."""
        self.acked: dict[Offset, bytes] = {}
        for id in NODES:
            disk = MemoryDisk(seed + id)
            disk.make_dirs(DIRECTORY)
            for path in ("/", "/data", DIRECTORY):
                disk.sync_dir(path)
            self.nodes[id] = Node(id, disk, self._open(id, disk), 0)
            self.nodes[id].partition.apply(self.controller.image, self.now)

    def _open(
        self,
        id: NodeId,
        disk: MemoryDisk,
        recovery_point: Offset = 0,
        high_watermark: Offset = 0,
        start: Offset = 0,
    ) -> Partition:
        log = PartitionLog.open(
            disk, DIRECTORY, CONFIG, now_ms=log_rig.NOW_MS, recovery_point=recovery_point, log_start=start
        )
        return Partition(
            "orders",
            bytes(16),
            0,
            log,
            node_id=id,
            durability=self.durability,
            min_insync_replicas=self.min_insync_replicas,
            on_unsynced=lambda _: None,
            high_watermark=high_watermark,
        )

    # What may happen

    def run(self, steps: int) -> None:
        actions: list[tuple[int, Callable[[Node], None]]] = [
            (12, self.produce),
            (20, self.fetch),
            (40, lambda _: self.deliver()),
            (12, self.begin_sync),
            (12, self.finish_sync),
            (10, self.hear),
            (6, self.look_at_isr),
            (4, self.checkpoint),
            (2, lambda _: self.pass_time()),
            (1, self.crash),
            (4, self.restart),
            (1, self.move_leader),
            (1, self.fence),
            (1, self.delete_records),
        ]
        weights = [weight for weight, _ in actions]
        for _ in range(steps):
            [(_, action)] = self.random.choices(actions, weights)
            node = self.nodes[self.random.choice(NODES)]
            action(node)
            self.check()

    def note(self, text: str) -> None:
        self.history.append(text)

    def produce(self, node: Node) -> None:
        if not node.is_up or not node.partition.is_leader:
            return
        self.written += 1
        value = b"%d" % self.written + b"." * self.random.randint(0, 100)
        count = self.random.randint(1, 3)
        batch = write_batch([Record(number, log_rig.NOW_MS, None, value) for number in range(count)])
        try:
            produced = node.partition.produce(memoryview(batch), all_replicas=True, now_ms=log_rig.NOW_MS)
        except KafkaError as error:
            self.note(f"{node.id} refuses: {error.code.name}")
            return
        self.note(f"{node.id} writes {self.written} at {produced.base_offset}")
        written = bytes(batch)
        done = partial(self._acknowledge, node, produced.base_offset, written)
        if node.partition.when_safe(produced.safe_at, done):
            done(None)

    def _acknowledge(self, node: Node, offset: Offset, batch: bytes, error: KafkaError | None) -> None:
        if error is None:
            self.note(f"{node.id} acknowledges {offset}")
            self.acked[offset] = batch
            self.check_acknowledged()

    def fetch(self, node: Node) -> None:
        if not node.is_up:
            return
        try:
            asked = node.partition.fetch_position()
        except KafkaError:
            return
        if asked is not None:
            leader = self.nodes[node.partition.leader_id]
            self.send(partial(self._on_fetch, leader, node, node.broker_epoch, asked))

    def send(self, message: Callable[[], None]) -> None:
        self.network.append(message)
        if self.random.random() < 0.1:
            self.network.append(message)

    def deliver(self) -> None:
        if self.network:
            # Mostly in order, sometimes very late.
            last = len(self.network) - 1
            number = 0 if self.random.random() < 0.7 else self.random.randint(0, last)
            message = self.network.pop(number)
            if self.random.random() > 0.1:
                message()

    def _on_fetch(self, leader: Node, node: Node, broker_epoch: Epoch, asked: FetchPosition) -> None:
        partition, log = leader.partition, leader.partition.log
        if not leader.is_up:
            return
        try:
            partition.check_leader()
            partition.check_epoch(asked.leader_epoch)
            apart = partition.divergence(asked.last_epoch, asked.offset)
            if apart is not None:
                self.send(partial(self._on_divergence, node, broker_epoch, asked, apart))
                return
            may_join = partition.follower_fetched(
                node.id, broker_epoch, asked.offset, self.now, log_start=log.start
            )
            found = log.read(asked.offset, self.random.choice((1, 300, 5000)), end=log.end)
        except KafkaError as error:
            self.note(f"{leader.id} refuses a fetch of {node.id} at {asked}: {error.code.name}")
            if error.code is ErrorCode.OFFSET_OUT_OF_RANGE:
                bounds = log.start, log.end
                self.send(partial(self._on_out_of_range, node, broker_epoch, asked, bounds))
            return
        self.note(f"{leader.id} is asked by {node.id} for {asked}")
        records = found.slice.read() if found is not None else b""
        mark, start = partition.high_watermark, log.start
        self.send(partial(self._on_records, node, broker_epoch, asked, Answer(bytes(records), mark, start)))
        if may_join:
            self.look_at_isr(leader)

    def _on_records(self, node: Node, broker_epoch: Epoch, asked: FetchPosition, answer: Answer) -> None:
        if node.is_up and node.broker_epoch == broker_epoch:
            count = node.partition.follow(
                memoryview(answer.records),
                asked=asked,
                leader_high_watermark=answer.high_watermark,
                leader_log_start=answer.start,
                now_ms=log_rig.NOW_MS,
            )
            self.note(f"{node.id} gets {count} bytes for {asked}: {node.partition}")

    def _on_divergence(
        self, node: Node, broker_epoch: Epoch, asked: FetchPosition, apart: tuple[Epoch, Offset]
    ) -> None:
        if node.is_up and node.broker_epoch == broker_epoch:
            for doomed in node.partition.diverged(*apart, asked=asked).doomed:
                doomed.run()
            node.synced_to = min(node.synced_to, node.partition.log.end)
            self.note(f"{node.id} diverged {apart}: {node.partition}")

    def _on_out_of_range(
        self, node: Node, broker_epoch: Epoch, asked: FetchPosition, bounds: tuple[Offset, Offset]
    ) -> None:
        if node.is_up and node.broker_epoch == broker_epoch:
            for doomed in node.partition.out_of_range(*bounds, asked=asked).doomed:
                doomed.run()
            self.note(f"{node.id} out of range {bounds}: {node.partition}")

    def begin_sync(self, node: Node) -> None:
        if node.is_up and node.flush is None:
            node.flush = node.partition.log.begin_flush()
            if node.flush is not None:
                node.flush.run()

    def finish_sync(self, node: Node) -> None:
        if node.is_up and node.flush is not None:
            node.partition.log.finish_flush(node.flush)
            node.flush = None
            node.synced_to = max(node.synced_to, node.partition.log.recovery_point)
            node.partition.advance()

    def checkpoint(self, node: Node) -> None:
        if node.is_up:
            node.recovery_checkpoint = node.partition.log.recovery_point
            node.mark_checkpoint = node.partition.high_watermark
            node.start_checkpoint = node.partition.log.start
            node.partition.checkpointed()

    def hear(self, node: Node) -> None:
        """The next news of the controller, or all there are."""
        news = self.controller.log[node.applied + 1 :]
        if node.is_up and news:
            steps = 1 if self.random.random() < 0.7 else len(news)
            node.applied += steps
            self._checkpoint_first(node)
            node.partition.apply(self.controller.log[node.applied], self.now)
            self.note(f"{node.id} hears: {node.partition} isr {node.partition.isr}")

    def _checkpoint_first(self, node: Node) -> None:
        if node.partition.must_checkpoint:
            self.checkpoint(node)

    def look_at_isr(self, node: Node) -> None:
        if not node.is_up:
            return
        proposal = node.partition.isr_wanted(self.now, LAG_MAX, self.controller.is_eligible)
        if proposal is not None:
            self.note(f"{node.id} proposes {proposal}")
            if node.partition.isr_proposed(proposal):
                node.proposal = proposal
        if node.proposal is not None and node.partition.is_pending(node.proposal):
            self.send(partial(self._on_alter, node, node.broker_epoch, node.proposal))

    def _on_alter(self, node: Node, broker_epoch: Epoch, proposal: IsrProposal) -> None:
        answer = self.controller.alter(node.id, proposal)
        self.note(f"the controller says {answer}")
        if self.random.random() < 0.6:  # else its sender does not know what became of it, and asks again
            self.send(partial(self._on_altered, node, broker_epoch, proposal, answer))

    def _on_altered(
        self, node: Node, broker_epoch: Epoch, proposal: IsrProposal, answer: ErrorCode | CommittedIsr
    ) -> None:
        if node.is_up and node.broker_epoch == broker_epoch:
            if isinstance(answer, ErrorCode):
                node.partition.isr_answered(proposal, answer)
            else:
                node.partition.isr_answered(proposal, None, answer)

    def pass_time(self) -> None:
        self.now += self.random.choice((0.5, LAG_MAX / 2, LAG_MAX * 1.5))

    def crash(self, node: Node) -> None:
        if not node.is_up or self.random.random() < 0.3:
            return
        self.note(f"{node.id} crashes: {node.partition}")
        node.is_up = False
        node.flush = None
        node.partition.log.close(clean=False)
        if self.durability is Durability.FSYNC:
            node.disk.crash()

    def restart(self, node: Node) -> None:
        if node.is_up:
            return
        node.is_up = True
        node.partition = self._open(
            node.id, node.disk, node.recovery_checkpoint, node.mark_checkpoint, node.start_checkpoint
        )
        node.broker_epoch = self.controller.register(node.id)
        node.applied = len(self.controller.log) - 1
        node.partition.apply(self.controller.image, self.now)
        node.visible_to = node.partition.log.start
        node.marks.clear()
        self._checkpoint_first(node)
        self.note(f"{node.id} is back: {node.partition}; {self.controller.image}")
        self.check_acknowledged()

    def move_leader(self, node: Node) -> None:
        self.controller.elect(node.id)
        self.note(f"the controller decides {self.controller.image}")

    def fence(self, node: Node) -> None:
        """It did not send its heartbeats, though it may be alive."""
        if self.random.random() < 0.7 or node.is_up:
            return
        self.controller.fence(node.id)
        self.note(f"the controller fences {node.id}: {self.controller.image}")

    def delete_records(self, node: Node) -> None:
        partition = node.partition
        if node.is_up and partition.is_leader and partition.high_watermark > partition.log.start:
            start = self.random.randint(partition.log.start, partition.high_watermark)
            partition.log.delete_before(start)

    # What must hold

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
        """What was acknowledged is on each member of the in-sync set, and synced where that is promised."""
        for id in self.controller.image.isr:
            node = self.nodes[id]
            log = node.partition.log
            if not node.is_up:
                continue  # looked at when it is back
            held = dict(batches(log, log.start, log.end))
            for offset, batch in self.acked.items():
                if offset < log.start:
                    continue
                if held.get(offset) != batch:
                    raise Broken(f"{node.partition} is in sync without the acknowledged offset {offset}")
                if self.durability is Durability.FSYNC and node.synced_to <= offset:
                    raise Broken(f"{node.partition} has not synced the acknowledged offset {offset}")

    # Healing

    def settle(self) -> None:
        """Without faults everybody ends up with the same log, in sync, all of it readable."""
        for node in self.nodes.values():
            self.restart(node)
        for node in self.nodes.values():
            if node.id in self.controller.fenced:
                node.broker_epoch = self.controller.register(node.id)
        for _ in range(400):
            if self._is_settled():
                break
            self.now += 0.5
            for node in self.nodes.values():
                node.applied = len(self.controller.log) - 1
                self._checkpoint_first(node)
                node.partition.apply(self.controller.image, self.now)
                for step in (self.begin_sync, self.finish_sync, self.checkpoint, self.fetch):
                    step(node)
                self.look_at_isr(node)
            while self.network:
                self.network.pop(0)()
            self.check()
        else:
            raise Broken(f"not settled: {[node.partition for node in self.nodes.values()]}")
        self.check_acknowledged()
        contents = [dict(batches(n.partition.log, self._start(), self._end())) for n in self.nodes.values()]
        if any(content != contents[0] for content in contents):
            raise Broken("the replicas differ")

    def _start(self) -> Offset:
        return max(node.partition.log.start for node in self.nodes.values())

    def _end(self) -> Offset:
        return max(node.partition.log.end for node in self.nodes.values())

    def _is_settled(self) -> bool:
        image = self.controller.image
        return len(image.isr) == len(NODES) and all(
            node.partition.high_watermark == node.partition.log.end == self._end()
            and node.partition.leader_epoch == image.leader_epoch
            for node in self.nodes.values()
        )


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
