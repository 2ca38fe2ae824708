"""Brokers 1, 2 and 3 with a replica each; a test says who leads, who fetches and who syncs."""

import pytest

from tests.rigs.log import NOW_MS, open_log, records
from tidelog.base.ids import NodeId, Offset
from tidelog.metadata.image.entities import PartitionImage
from tidelog.replication.partition import Durability, Partition, Produced
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.record import Record, write_batch

BROKERS = (1, 2, 3)


class Trio:
    def __init__(self) -> None:
        self.disks = {id: MemoryDisk() for id in BROKERS}
        self.replicas: dict[NodeId, Partition] = {}
        self.now = 100.0
        self.image = PartitionImage(0, BROKERS, BROKERS, 1)

    def start(self, durability: Durability = Durability.OS, min_insync_replicas: int = 1) -> None:
        for id, disk in self.disks.items():
            self.replicas[id] = Partition(
                "orders",
                bytes(16),
                0,
                open_log(disk, LogConfig(is_replicated=True)),
                node_id=id,
                durability=durability,
                min_insync_replicas=min_insync_replicas,
                on_unsynced=lambda _: None,
            )
            self.replicas[id].apply(self.image, self.now)
            self.sync(id)  # a new directory must be durable before it acknowledges anything

    def __getitem__(self, id: NodeId) -> Partition:
        return self.replicas[id]

    def decide(
        self, *, leader: NodeId | None = None, isr: tuple[NodeId, ...] | None = None
    ) -> PartitionImage:
        """What the controller would; nobody has heard of it yet."""
        old = self.image
        is_new = leader is not None
        self.image = PartitionImage(
            0,
            BROKERS,
            old.isr if isr is None else isr,
            leader if leader is not None else old.leader,
            leader_epoch=old.leader_epoch + is_new,
            partition_epoch=old.partition_epoch + 1,
        )
        return self.image

    def tell(self, *ids: NodeId) -> None:
        for id in ids or BROKERS:
            self[id].apply(self.image, self.now)

    def produce(self, id: NodeId, value: bytes = b"x", *, all_replicas: bool = True) -> Produced:
        batch = write_batch([Record(0, NOW_MS, None, value)])
        return self[id].produce(memoryview(batch), all_replicas=all_replicas, now_ms=NOW_MS)

    def fetch(self, follower: NodeId, *, broker_epoch: int = 0, max_bytes: int = 1 << 20) -> int:
        """One fetch of a follower and what it does with the answer; how many bytes it got."""
        replica = self[follower]
        leader = self[replica.leader_id]
        asked = replica.follower.fetch_position()
        assert asked is not None
        leader.check_epoch(asked.leader_epoch)
        apart = leader.divergence(asked.last_epoch, asked.offset)
        if apart is not None:
            replica.follower.diverged(*apart, asked=asked)
            replica.follower.checkpointed()
            return 0
        start = replica.log.start
        leader.leader.follower_fetched(follower, broker_epoch, asked.offset, self.now, log_start=start)
        found = leader.log.read(asked.offset, max_bytes, end=leader.log.end)
        return replica.follower.follow(
            memoryview(found.slice.read() if found else b""),
            asked=asked,
            leader_high_watermark=leader.high_watermark,
            leader_log_start=leader.log.start,
            now_ms=NOW_MS,
        )

    def sync(self, id: NodeId) -> None:
        flush = self[id].log.begin_flush()
        if flush is not None:
            flush.run()
            self[id].log.finish_flush(flush)
        self[id].advance()

    def values(self, id: NodeId) -> list[bytes | None]:
        return [record.value for record in records(self[id].log)]

    def offsets(self, id: NodeId) -> tuple[Offset, Offset]:
        return self[id].high_watermark, self[id].log.end


@pytest.fixture
def trio() -> Trio:
    return Trio()
