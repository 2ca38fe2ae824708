import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from tests.rigs.log import NOW_MS, open_log
from tests.rigs.partition import NODE, sole_leader
from tests.rigs.virtual_time import run
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.readable import READABLE_SECONDS, not_readable_yet, until_readable
from tidelog.metadata.image.entities import PartitionImage
from tidelog.replication.partition import Partition
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.record import Record, write_batch


@pytest.fixture
def partition() -> Partition:
    led = sole_leader(open_log(MemoryDisk(), LogConfig()), on_unsynced=lambda _: None)
    led.produce(memoryview(write_batch([Record(0, NOW_MS, None, b"v")])), all_replicas=False, now_ms=NOW_MS)
    return led


def hosting(partition: Partition) -> Any:
    def find(topic: str, index: int) -> Partition:
        if topic != partition.topic:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return partition

    return SimpleNamespace(find=find)


def sync(partition: Partition) -> None:
    flush = partition.log.begin_flush()
    assert flush is not None
    flush.run()
    partition.log.finish_flush(flush)
    partition.advance()


def test_what_is_written_can_be_read_once_it_is_synced(partition: Partition) -> None:
    assert (partition.high_watermark, partition.written_end) == (0, 1)

    async def main() -> None:
        waiting = asyncio.ensure_future(until_readable([partition]))
        await asyncio.sleep(1)
        assert not waiting.done()
        sync(partition)
        await waiting
        assert partition.high_watermark == 1

    run(main())


def test_only_partitions_with_something_to_wait_for_are_waited_for(partition: Partition) -> None:
    hosted = hosting(partition)
    assert not_readable_yet(hosted, [("orders", 0), ("unknown", 0)]) == [partition]
    sync(partition)
    assert not_readable_yet(hosted, [("orders", 0)]) == []


def test_a_leader_with_followers_in_sync_cannot_say_when_they_have_it(partition: Partition) -> None:
    partition.apply(PartitionImage(0, (NODE, 2), (NODE, 2), NODE, leader_epoch=1, partition_epoch=1), now=0.0)
    assert partition.written_end == partition.high_watermark == 0


@pytest.mark.parametrize("late", [True, False])
def test_nobody_waits_for_a_disk_for_ever(partition: Partition, late: bool) -> None:
    async def main() -> None:
        began = asyncio.get_running_loop().time()
        if not late:
            asyncio.get_running_loop().call_later(
                1, partition.release_all, KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
            )
        await until_readable([partition])
        waited = asyncio.get_running_loop().time() - began
        assert waited == pytest.approx(READABLE_SECONDS if late else 1)
        assert not partition.mark.acks.queue

    run(main())
