"""Three replicas of one partition under random faults: real partitions and logs, everything else a model.

The controller is an ideal one, the network loses, repeats and reorders, and a crash takes the page cache
where durability is `fsync`. One seed replays a run. Each step ends with the checks of what must always hold.
"""

import random
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from tests.rigs import log as log_rig
from tests.rigs.replication.checks import Broken, Node, ReplicationChecks, batches
from tests.rigs.replication.controller import NODES, Controller
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Epoch, NodeId, Offset
from tidelog.replication.partition import CommittedIsr, Durability, FetchPosition, IsrProposal, Partition
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk, PowerCut
from tidelog.wire.record import Record, write_batch

LAG_MAX = 10.0
DIRECTORY = "/data/orders-0"
# A few batches to a segment, so that cuts cross segments.
CONFIG = LogConfig(segment_bytes=600, is_replicated=True)


class Answer(NamedTuple):
    records: bytes
    high_watermark: Offset
    start: Offset


class ReplicationModel(ReplicationChecks):
    def __init__(
        self, seed: int, durability: Durability, min_insync_replicas: int = 1, *, has_elr: bool = False
    ) -> None:
        super().__init__(Controller(min_insync_replicas, has_elr=has_elr), durability)
        self.random = random.Random(seed)
        self.now = 0.0
        self.network: list[Callable[[], None]] = []
        self.history: list[str] = []
        self.written = 0
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
            min_insync_replicas=self.controller.min_insync_replicas,
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
            (1, self.cut_power_soon),
            (4, self.restart),
            (1, self.move_leader),
            (1, self.fence),
            (1, self.delete_records),
            (1, lambda _: self.change_min_insync()),
        ]
        weights = [weight for weight, _ in actions]
        for _ in range(steps):
            [(_, action)] = self.random.choices(actions, weights)
            node = self.nodes[self.random.choice(NODES)]
            try:
                action(node)
            except PowerCut:
                self._stop_who_has_no_power()
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
        if node.partition.when_committed(produced.committed_at, done):
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
            asked = node.partition.follower.fetch_position()
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
            may_join = partition.leader.follower_fetched(
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
            count = node.partition.follower.follow(
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
            for deletion in node.partition.follower.diverged(*apart, asked=asked).deletions:
                deletion.run()
            node.synced_to = min(node.synced_to, node.partition.log.end)
            self.note(f"{node.id} diverged {apart}: {node.partition}")

    def _on_out_of_range(
        self, node: Node, broker_epoch: Epoch, asked: FetchPosition, bounds: tuple[Offset, Offset]
    ) -> None:
        if node.is_up and node.broker_epoch == broker_epoch:
            for deletion in node.partition.follower.out_of_range(*bounds, asked=asked).deletions:
                deletion.run()
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
            node.partition.follower.checkpointed()

    def hear(self, node: Node) -> None:
        """The next update of the controller, or all there are."""
        updates = self.controller.log[node.applied + 1 :]
        if node.is_up and updates:
            steps = 1 if self.random.random() < 0.7 else len(updates)
            node.applied += steps
            self._checkpoint_first(node)
            self._apply(node)
            self.note(f"{node.id} hears: {node.partition} isr {node.partition.isr}")

    def _apply(self, node: Node) -> None:
        update = self.controller.log[node.applied]
        node.partition.min_insync_replicas = update.min_insync_replicas
        node.partition.apply(update.image, self.now)
        node.partition.advance()

    def _checkpoint_first(self, node: Node) -> None:
        if node.partition.follower.must_checkpoint:
            self.checkpoint(node)

    def look_at_isr(self, node: Node) -> None:
        leader = node.partition.leader
        if not node.is_up or leader is None:
            return
        proposal = leader.isr_wanted(self.now, LAG_MAX, self.controller.is_eligible)
        if proposal is not None:
            self.note(f"{node.id} proposes {proposal}")
            if leader.isr_proposed(proposal):
                node.proposal = proposal
        if node.proposal is not None and leader.is_pending(node.proposal):
            self.send(partial(self._on_alter, node, node.broker_epoch, node.proposal))

    def _on_alter(self, node: Node, broker_epoch: Epoch, proposal: IsrProposal) -> None:
        answer = self.controller.alter(node.id, proposal)
        self.note(f"the controller says {answer}")
        if self.random.random() < 0.6:  # else its sender does not know what became of it, and asks again
            self.send(partial(self._on_altered, node, broker_epoch, proposal, answer))

    def _on_altered(
        self, node: Node, broker_epoch: Epoch, proposal: IsrProposal, answer: ErrorCode | CommittedIsr
    ) -> None:
        leader = node.partition.leader
        if node.is_up and node.broker_epoch == broker_epoch and leader is not None:
            if isinstance(answer, ErrorCode):
                leader.isr_answered(proposal, answer)
            else:
                leader.isr_answered(proposal, None, answer)

    def pass_time(self) -> None:
        self.now += self.random.choice((0.5, LAG_MAX / 2, LAG_MAX * 1.5))

    def crash(self, node: Node) -> None:
        if not node.is_up or self.random.random() < 0.3:
            return
        self._stop(node)

    def cut_power_soon(self, node: Node) -> None:
        """In the middle of whatever it will be writing then."""
        if node.is_up and self.durability is Durability.FSYNC:
            node.disk.power_cut_at = node.disk.operations + self.random.randint(1, 20)

    def _stop_who_has_no_power(self) -> None:
        for node in self.nodes.values():
            at = node.disk.power_cut_at
            if node.is_up and at is not None and node.disk.operations >= at:
                self._stop(node)

    def _stop(self, node: Node) -> None:
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
        node.broker_epoch = self._register(node)
        node.applied = len(self.controller.log) - 1
        self._apply(node)
        node.visible_to = node.partition.log.start
        node.marks.clear()
        self._checkpoint_first(node)
        self.note(f"{node.id} is back: {node.partition}; {self.controller.image}")
        self.check_acknowledged()

    def _register(self, node: Node) -> Epoch:
        return self.controller.register(node.id, is_doubted=self.durability is not Durability.FSYNC)

    def change_min_insync(self) -> None:
        self.controller.set_min_insync(self.random.randint(1, len(NODES)))
        self.note(f"the controller decides {self.controller.log[-1]}")

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

    # Healing

    def converge(self) -> None:
        """Without faults everybody ends up with the same log, in sync, all of it readable."""
        for node in self.nodes.values():
            node.disk.power_cut_at = None
            self.restart(node)
        for node in self.nodes.values():
            if node.id in self.controller.fenced:
                node.broker_epoch = self._register(node)
        for _ in range(400):
            if self._has_converged():
                break
            self.now += 0.5
            for node in self.nodes.values():
                node.applied = len(self.controller.log) - 1
                self._checkpoint_first(node)
                self._apply(node)
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

    def _has_converged(self) -> bool:
        image = self.controller.image
        return len(image.isr) == len(NODES) and all(
            node.partition.high_watermark == node.partition.log.end == self._end()
            and node.partition.leader_epoch == image.leader_epoch
            for node in self.nodes.values()
        )
