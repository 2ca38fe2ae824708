"""A replica whose log is damaged where it was synced: it does not lead, and gets back what it lost."""

import pytest

from tests.rigs.log import DIRECTORY, NOW_MS, open_log
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NodeId
from tidelog.metadata.image.entities import NO_LEADER, PartitionImage
from tidelog.replication.partition import Durability, Partition
from tidelog.replication.repair import Repair, awaits_repair
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.storage.recovery.lost_range import LostRange
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.batch import check_batches, iter_batches
from tidelog.wire.record import Record, write_batch

LOG = f"{DIRECTORY}/{0:020d}.log"
REPLICATED = LogConfig(is_replicated=True)
ME, OTHER = 1, 2


def written(count: int, *, last_epoch: int = 1, last: int = 2) -> MemoryDisk:
    """Records of epoch 0, and the last few of another."""
    disk = MemoryDisk()
    log = open_log(disk, REPLICATED)
    for number in range(count):
        batch = write_batch([Record(0, NOW_MS + number, b"k", b"%d" % number)])
        epoch = last_epoch if number >= count - last else 0
        log.append(memoryview(batch), check_batches(batch), leader_epoch=epoch, now_ms=NOW_MS)
    log.close(clean=True)
    return disk


def damaged(count: int = 10, *, last: int = 2) -> MemoryDisk:
    disk = written(count, last=last)
    disk.flip_bit(LOG, disk.size(LOG) - 5)
    return disk


def replica(disk: MemoryDisk, count: int = 10, node: NodeId = ME) -> Partition:
    log = PartitionLog.open(disk, DIRECTORY, REPLICATED, now_ms=NOW_MS, clean=True, recovery_point=count)
    return Partition(
        "orders",
        bytes(16),
        0,
        log,
        node_id=node,
        durability=Durability.FSYNC,
        min_insync_replicas=1,
        on_unsynced=lambda _: None,
        high_watermark=count,
    )


def image(leader: NodeId, isr: tuple[NodeId, ...], epoch: int = 2) -> PartitionImage:
    return PartitionImage(0, (ME, OTHER), isr, leader, leader_epoch=epoch, partition_epoch=epoch)


def batches(partition: Partition, offset: int) -> memoryview:
    found = partition.log.read(offset, 1 << 20, end=partition.log.end)
    assert found is not None
    return memoryview(bytearray(found.slice.read()))


def sync(partition: Partition) -> None:
    flush = partition.log.begin_flush()
    assert flush is not None
    flush.run()
    partition.log.finish_flush(flush)


def test_it_does_not_lead_even_if_it_is_told_to() -> None:
    partition = replica(damaged())
    partition.apply(image(ME, (ME,)), 0.0)
    assert not partition.is_leader
    assert partition.log.lost == LostRange(9, 10, 1)
    assert not awaits_repair(partition)  # the controller must know first
    partition.apply(image(NO_LEADER, (ME,), 3), 0.0)
    assert awaits_repair(partition)


def test_a_partition_that_left_this_broker_is_not_repaired() -> None:
    """Its directory may be that of another topic by then, under the same name."""
    partition = replica(damaged())
    partition.apply(image(NO_LEADER, (ME,), 3), 0.0)
    repair = Repair(partition)
    partition.leave(KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    assert not awaits_repair(partition)
    assert not repair.is_due


def test_as_a_follower_it_truncates_its_log_before_the_damage_and_copies() -> None:
    partition = replica(damaged())
    partition.apply(image(OTHER, (OTHER,)), 0.0)
    assert (partition.log.end, partition.log.lost) == (9, None)
    partition.follower.checkpointed()
    sync(partition)
    position = partition.follower.fetch_position()
    assert position is not None
    assert (position.offset, position.last_epoch) == (9, 1)


def test_as_an_in_sync_follower_it_waits_until_it_is_none() -> None:
    """It would be behind, and could still be elected."""
    partition = replica(damaged())
    partition.apply(image(OTHER, (ME, OTHER)), 0.0)
    assert partition.log.lost is not None
    with pytest.raises(KafkaError) as refused:
        partition.follower.fetch_position()
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    partition.apply(PartitionImage(0, (ME, OTHER), (OTHER,), OTHER, leader_epoch=2, partition_epoch=3), 0.0)
    assert (partition.log.end, partition.log.lost) == (9, None)


def test_the_last_in_sync_replica_is_repaired_from_one_that_has_the_same_log() -> None:
    partition, other = replica(damaged()), replica(written(10), node=OTHER)
    partition.apply(image(NO_LEADER, (ME,)), 0.0)
    repair = Repair(partition)
    proof = repair.proof()
    assert proof == (10, 1)
    assert other.divergence(proof.last_epoch, proof.offset) is None
    for deletion in repair.begin():
        deletion.run()
    assert repair.next() == (9, 1)
    assert repair.take(batches(other, 9), NOW_MS)
    assert repair.is_done
    sync(partition)
    repair.finish()
    assert not partition.follower.must_checkpoint
    partition.apply(image(ME, (ME,), 3), 0.0)
    assert partition.is_leader
    assert (partition.high_watermark, partition.log.end) == (10, 10)
    assert [header.base_offset for _, header in iter_batches(batches(partition, 0))] == list(range(10))


def test_a_replica_without_the_lost_records_is_found_out_before_anything_is_truncated() -> None:
    partition = replica(damaged())
    partition.apply(image(NO_LEADER, (ME,)), 0.0)
    proof = Repair(partition).proof()
    shorter, another = replica(written(9), 9, OTHER), replica(written(10, last_epoch=2), node=OTHER)
    assert shorter.divergence(proof.last_epoch, proof.offset) == (1, 9)
    assert another.divergence(proof.last_epoch, proof.offset) == (0, 8)


def test_a_repair_that_was_broken_off_can_be_tried_again_even_after_a_restart() -> None:
    """An epoch that began with what was lost is forgotten with the cut; the word of the loss knows it."""
    disk, other = damaged(10, last=1), replica(written(10, last=1), node=OTHER)
    partition = replica(disk)
    partition.apply(image(NO_LEADER, (ME,)), 0.0)
    Repair(partition).begin()
    assert partition.log.leader_epochs.latest == 0
    assert Repair(partition).proof() == (10, 1)
    partition.log.close(clean=True)
    again = replica(disk)
    again.apply(image(NO_LEADER, (ME,)), 0.0)
    repair = Repair(again)
    assert repair.proof() == (10, 1)
    repair.begin()
    assert repair.take(batches(other, 9), NOW_MS)
    assert repair.is_done
    assert again.log.leader_epochs.entries == [(0, 0), (1, 9)]


def test_batches_of_another_epoch_are_refused() -> None:
    partition, other = replica(damaged()), replica(written(10, last_epoch=2), node=OTHER)
    partition.apply(image(NO_LEADER, (ME,)), 0.0)
    repair = Repair(partition)
    repair.begin()
    with pytest.raises(KafkaError, match="epochs 1 to 1 wrote what was lost"):
        repair.take(batches(other, 9), NOW_MS)
    assert partition.log.lost == LostRange(9, 10, 1)
