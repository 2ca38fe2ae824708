import gc
import weakref

import pytest

from tests.rigs.log import NOW_MS, open_log
from tests.rigs.partition import sole_leader
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.replication.partition import Durability, Partition
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.record import Record, write_batch


class Watcher:
    def __init__(self) -> None:
        self.told: list[int] = []

    def on_bytes(self, count: int) -> None:
        self.told.append(count)


class Rig:
    """A partition on a disk in memory, with a flusher that runs when the test says so."""

    def __init__(self, durability: Durability = Durability.FSYNC, *, min_isr: int = 1):
        self.disk = MemoryDisk()
        self.asked_to_sync = 0
        self.partition = sole_leader(
            open_log(self.disk, LogConfig()),
            leader_epoch=3,
            durability=durability,
            min_insync_replicas=min_isr,
            on_unsynced=self._on_unsynced,
        )

    def _on_unsynced(self, _: Partition) -> None:
        self.asked_to_sync += 1

    def produce(
        self, values: list[bytes], *, producer_id: int = -1, sequence: int = -1, all_replicas: bool = True
    ):
        records = [Record(n, NOW_MS, None, value, []) for n, value in enumerate(values)]
        epoch = 0 if producer_id >= 0 else -1
        batch = write_batch(records, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)
        return self.partition.produce(memoryview(batch), all_replicas=all_replicas, now_ms=NOW_MS)

    def sync(self) -> None:
        flush = self.partition.log.begin_flush()
        assert flush is not None
        flush.run()
        self.partition.log.finish_flush(flush)
        self.partition.advance()


def test_under_fsync_nothing_is_readable_or_committed_before_it_is_synced() -> None:
    rig = Rig(Durability.FSYNC)
    done: list[KafkaError | None] = []
    produced = rig.produce([b"a", b"b"])
    assert (produced.base_offset, produced.committed_at) == (0, 2)
    assert rig.partition.high_watermark == 0
    assert rig.asked_to_sync == 1
    assert not rig.partition.when_committed(produced.committed_at, done.append)
    assert done == []

    rig.sync()
    assert rig.partition.high_watermark == 2
    assert done == [None]


@pytest.mark.parametrize("durability", [Durability.OS, Durability.INTERVAL])
def test_elsewhere_written_is_readable_at_once(durability: Durability) -> None:
    rig = Rig(durability)
    produced = rig.produce([b"a"])
    assert rig.partition.high_watermark == 1
    assert rig.partition.when_committed(produced.committed_at, lambda _: pytest.fail("nobody has to wait"))
    assert rig.asked_to_sync == 0


def test_one_sync_serves_everybody_who_waits() -> None:
    rig = Rig()
    done: list[str] = []
    for name in "abc":
        committed_at = rig.produce([name.encode()]).committed_at
        rig.partition.when_committed(committed_at, lambda error, name=name: done.append(name))
    rig.sync()
    assert done == ["a", "b", "c"]


def test_a_retry_is_answered_with_its_old_offset_and_waits_for_the_same_sync() -> None:
    rig = Rig()
    first = rig.produce([b"a", b"b"], producer_id=7, sequence=0)
    rig.produce([b"c"], producer_id=7, sequence=2)
    waiting: list[KafkaError | None] = []
    rig.partition.when_committed(3, waiting.append)
    again = rig.produce([b"a", b"b"], producer_id=7, sequence=0)
    assert again.base_offset == first.base_offset == 0
    assert again.committed_at == 2
    assert rig.partition.log.end == 3
    early: list[KafkaError | None] = []
    assert not rig.partition.when_committed(again.committed_at, early.append)
    rig.sync()
    assert early == waiting == [None]


def test_a_gap_in_the_sequence_changes_nothing() -> None:
    rig = Rig()
    rig.produce([b"a"], producer_id=7, sequence=0)
    with pytest.raises(KafkaError) as refused:
        rig.produce([b"c"], producer_id=7, sequence=5)
    assert refused.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert rig.partition.log.end == 1


def test_no_more_replicas_are_asked_for_than_there_are() -> None:
    """As in Kafka: a topic of one replica under a cluster's default of two would never take a write."""
    rig = Rig(min_isr=2)
    rig.produce([b"a"])
    assert rig.partition.log.end == 1


def test_too_few_replicas_in_sync_refuse_before_anything_is_written() -> None:
    rig = Rig(min_isr=2)
    rig.partition.replicas = (1, 2, 3)
    with pytest.raises(KafkaError) as refused:
        rig.produce([b"a"])
    assert refused.value.code is ErrorCode.NOT_ENOUGH_REPLICAS
    assert rig.partition.log.end == 0
    rig.produce([b"a"], all_replicas=False)
    assert rig.partition.log.end == 1


def test_watchers_hear_of_bytes_when_they_become_readable() -> None:
    rig = Rig()
    watcher = Watcher()
    rig.partition.watchers.add(watcher)
    rig.produce([b"x" * 100])
    rig.produce([b"y" * 100])
    assert watcher.told == []
    rig.sync()
    assert watcher.told == [rig.partition.log.size_bytes]
    rig.partition.watchers.remove(watcher)
    rig.produce([b"z"])
    rig.sync()
    assert len(watcher.told) == 1


def test_a_full_disk_takes_the_partition_offline_and_releases_everybody() -> None:
    rig = Rig()
    done: list[KafkaError | None] = []
    watcher = Watcher()
    rig.partition.watchers.add(watcher)
    rig.partition.when_committed(rig.produce([b"a"]).committed_at, done.append)
    rig.disk.fail("write", ".log", error=28)
    with pytest.raises(KafkaError) as refused:
        rig.produce([b"b"])
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert [error.code for error in done if error] == [ErrorCode.KAFKA_STORAGE_ERROR]
    assert watcher.told == [0]
    with pytest.raises(KafkaError):
        rig.produce([b"c"])


def test_a_waiter_that_gave_up_is_forgotten() -> None:
    rig = Rig()
    gave_up: list[KafkaError | None] = []
    call = gave_up.append
    rig.partition.when_committed(rig.produce([b"a"]).committed_at, call)
    rig.partition.forget(call)
    kept: list[KafkaError | None] = []
    rig.partition.when_committed(1, kept.append)
    rig.sync()
    assert kept == [None]
    assert gave_up == []


def test_what_was_not_synced_at_the_start_asks_for_a_sync_first() -> None:
    rig = Rig()
    rig.produce([b"a"])
    reopened = open_log(rig.disk, LogConfig(), recovery_point=0)
    asked: list[Partition] = []
    partition = sole_leader(reopened, leader_epoch=4, on_unsynced=asked.append)
    assert reopened.end == 1
    assert partition.high_watermark == 0
    assert asked == [partition]


@pytest.mark.parametrize(
    ("epoch", "code"), [(2, ErrorCode.FENCED_LEADER_EPOCH), (4, ErrorCode.UNKNOWN_LEADER_EPOCH)]
)
def test_clients_with_other_epochs_are_fenced(epoch: int, code: ErrorCode) -> None:
    rig = Rig()
    rig.partition.check_epoch(-1)
    rig.partition.check_epoch(3)
    with pytest.raises(KafkaError) as refused:
        rig.partition.check_epoch(epoch)
    assert refused.value.code is code


def test_flush_messages_and_flush_ms_ask_for_syncs_of_their_own() -> None:
    rig = Rig(Durability.OS)
    rig.partition.log.configure(LogConfig(flush_messages=2, flush_ms=1000))
    rig.produce([b"a"])
    assert rig.asked_to_sync == 0
    rig.produce([b"b"])
    assert rig.asked_to_sync == 1
    assert not rig.partition.sync.is_overdue(rig.partition.log, 10.0)
    assert not rig.partition.sync.is_overdue(rig.partition.log, 10.9)
    assert rig.partition.sync.is_overdue(rig.partition.log, 11.0)
    rig.sync()
    assert not rig.partition.sync.is_overdue(rig.partition.log, 20.0)


def test_a_sealed_segment_is_synced_even_if_the_page_cache_decides() -> None:
    rig = Rig(Durability.OS)
    rig.produce([b"first"])
    assert rig.asked_to_sync == 0
    rig.partition.log.roll(NOW_MS)
    rig.produce([b"second"])
    assert rig.asked_to_sync == 1
    rig.sync()
    rig.produce([b"third"])
    assert rig.asked_to_sync == 1
    assert rig.partition.log.recovery_point == 2


def test_reference_counts_alone_free_a_partition_and_its_log() -> None:
    """A broker freezes open logs: the collector would never visit a cycle among them."""
    log = open_log(MemoryDisk(), LogConfig())
    partition = sole_leader(log, durability=Durability.OS, on_unsynced=lambda _: None)
    batch = write_batch([Record(0, NOW_MS, None, b"a", [])])
    partition.produce(memoryview(batch), all_replicas=True, now_ms=NOW_MS)
    log.roll(NOW_MS)
    log.compaction.cleanable(log.end, NOW_MS)
    log.close(clean=False)
    watched = [weakref.ref(partition), weakref.ref(log)]
    gc.disable()
    try:
        del partition, log
        assert [each() for each in watched] == [None, None]
    finally:
        gc.enable()
