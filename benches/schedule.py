"""A million scheduled records on one partition, and a million in flight: memory, time, and the longest turn.

    python -m benches.schedule [--records N] [--codec lz4] [--memory BYTES]

In one process, without a network: a share partition on a log of 100-byte records in batches of 100, each due
at a time of its own, which is the most that an index can be made to hold. The state is stored in memory. All
times are CPU times.
"""

import argparse
import asyncio
import gc
import random
import tempfile
import time
from collections.abc import Awaitable, Callable
from typing import Any

from benches.rig.report import machine, show
from tests.rigs.partition import sole_leader
from tests.rigs.shares import GROUP, TOPIC, TOPIC_ID, ShareRig
from tidelog.base.config.config import load
from tidelog.base.disk import PosixDisk
from tidelog.broker.shares.schedule.schedule import MEMORY_BYTES, Schedule
from tidelog.broker.shares.share_partitions import SharePartitions
from tidelog.replication.partition import Durability, Partition
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.wire.batch import check_batches
from tidelog.wire.compression import Codec
from tidelog.wire.record import Record, write_batch

BATCH = 100
VALUE = b"." * 80
HOUR_MS = 3_600_000
WINDOW = "group.share.partition.max.window.records"
LOCKS_MAX = 100_000


def resident_bytes() -> int:
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


class Rig(ShareRig):
    def __init__(self, folder: str, partitions: int, memory: int = 32 << 20) -> None:
        super().__init__(partitions=partitions, settings={"share.partition.max.record.locks": str(LOCKS_MAX)})
        self.metadata.config = load(flags={WINDOW: "100000000", MEMORY_BYTES: str(memory)})
        self.partitions = [self._on_disk(folder, index) for index in range(partitions)]
        self.lead()

    def lead(self) -> None:
        self.shares = self.services.shares = SharePartitions(
            self.clock, self.metadata, self.hosted, self.store
        )
        self.schedule = Schedule(self.shares, self.metadata)

    @staticmethod
    def _on_disk(folder: str, index: int) -> Partition:
        log = PartitionLog.open(PosixDisk(), f"{folder}/{TOPIC}-{index}", LogConfig(), now_ms=0)
        return sole_leader(
            log,
            topic=TOPIC,
            topic_id=TOPIC_ID,
            index=index,
            durability=Durability.OS,
            on_unsynced=lambda _: None,
        )

    def fill(self, records: int, index: int, header: Callable[[], bytes] | None, codec: Codec) -> None:
        now_ms = self.clock.now_ms()
        for _ in range(records // BATCH):
            batch = write_batch(
                [
                    Record(n, now_ms, None, VALUE, [] if header is None else [("tidelog-delay", header())])
                    for n in range(BATCH)
                ],
                codec=codec,
            )
            partition = self.partitions[index]
            partition.log.append(memoryview(batch), check_batches(batch), leader_epoch=0, now_ms=now_ms)
            partition.appended(len(batch))


async def longest_turn(work: Awaitable[Any]) -> tuple[float, float]:
    """CPU seconds of the work, and of the longest turn of the event loop meanwhile."""
    longest, is_over = 0.0, False

    async def watch() -> None:
        nonlocal longest
        while not is_over:
            before = time.process_time()
            await asyncio.sleep(0)
            longest = max(longest, time.process_time() - before)

    watcher = asyncio.ensure_future(watch())
    start = time.process_time()
    await work
    took = time.process_time() - start
    is_over = True
    await watcher
    return took, longest


async def scheduled(folder: str, records: int, codec: Codec, memory_max: int) -> None:
    rig = Rig(folder, 1, memory_max)
    chance = random.Random(1)
    rig.fill(records, 0, lambda: b"%d" % chance.randrange(HOUR_MS, 25 * HOUR_MS), codec)
    rig.fill(BATCH, 0, None, codec)
    before = resident_bytes()

    async def reach_the_end(name: str) -> None:
        worker = rig.worker(name)
        while not (taken := await worker.take_ranges(max_wait_ms=1000, max_bytes=50 << 20)):
            pass
        assert taken[0][0] == records
        worker.disconnect()

    took, turn = await longest_turn(reach_the_end("anna"))
    grown = resident_bytes() - before
    memory, file = rig.schedule.memory.used_bytes, rig.schedule.file_bytes
    show("scheduled: until a record behind them is delivered", took, "s")
    show("longest turn", turn * 1000, "ms")
    show("memory of a scheduled record", grown / records, "bytes")
    show("  its time, in memory", memory / records, "bytes")
    show("  its time, in a file", file / records, "bytes")

    rig.shares.close()
    rig.lead()
    took, turn = await longest_turn(reach_the_end("bert"))
    show("another leader: until it delivers a record behind them", took, "s")
    show("longest turn", turn * 1000, "ms")

    led = rig.shares.find(GROUP, TOPIC_ID, 0)
    rig.clock.jumped_ms = 26 * HOUR_MS
    [schedule] = rig.schedule._partitions.values()

    async def until_due() -> None:
        schedule._look()
        while led.share.scheduled:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0)

    took, turn = await longest_turn(until_due())
    show("all due at once: until all are available", took, "s")
    show("longest turn", turn * 1000, "ms")
    rig.shares.close()


async def in_flight(folder: str, records: int) -> None:
    partitions = max(1, records // LOCKS_MAX)
    rig = Rig(folder, partitions)
    for index in range(partitions):
        rig.fill(records // partitions, index, None, Codec.NONE)
    before = resident_bytes()
    worker = rig.worker()
    start = time.process_time()
    held = 0
    while held < records:
        taken = await worker.take_ranges(max_wait_ms=100, max_records=500, max_bytes=1 << 20)
        held += sum(last - first + 1 for first, last, _ in taken)
    took = time.process_time() - start
    grown = resident_bytes() - before
    show("in flight: taken, 500 at a time", took, "s")
    show("memory of a record in flight", grown / held, "bytes", at_most=10)
    rig.shares.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--codec", default="none")
    parser.add_argument("--memory", type=int, default=32 << 20)
    asked = parser.parse_args()
    print(machine())
    print(f"{asked.records:,} records")
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(in_flight(f"{folder}/held", asked.records))
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(scheduled(f"{folder}/scheduled", asked.records, Codec[asked.codec.upper()], asked.memory))


if __name__ == "__main__":
    main()
