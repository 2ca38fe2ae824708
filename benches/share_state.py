"""The state of share groups: writes through the persister on one broker, and loads of large states.

    python -m benches.share_state

Writes of one record each, as one-by-one acknowledgements save them, over several share partitions at once;
then the time to load a coordinator whose state has many records in flight, to read that state, and to load a
share partition from it: how long, and how much of the CPU a turn of the event loop takes at most meanwhile.
"""

import asyncio
import gc
import time
from typing import Any

from tests.rigs.share_states import GROUP, PARTITIONS, StateCluster
from tests.rigs.shares import TOPIC_ID, ShareRig
from tidelog.broker.shares.share_partitions import SharePartitions
from tidelog.wire.messages import write_share_group_state as write

SECONDS = 3.0
PRODUCED = 10_000


class Bench:
    def __init__(self) -> None:
        self.cluster = StateCluster()
        self.cluster.lead(1)
        self.broker = self.cluster.brokers[1]
        self.broker._run_in_thread = self._at_once  # type: ignore[method-assign]
        self.broker.states.service._run_in_thread = self._at_once

    async def _at_once(self, job: Any) -> Any:
        return await asyncio.to_thread(job)

    async def writes(self, partitions: int, window: int) -> tuple[float, float]:
        """Writes of one record each, every other offset of a window: a second, and a second of CPU time."""
        await self.broker.initialize(*range(PARTITIONS))
        ends = time.perf_counter() + SECONDS
        began_cpu = time.process_time()
        done = 0

        async def save(partition: int) -> None:
            nonlocal done
            number = 0
            while time.perf_counter() < ends:
                number += 2
                offset = number % window + (number // window) % 2
                await self.broker.write(partition, (offset, offset, 2, 1))
                done += 1

        await asyncio.gather(*(save(partition) for partition in range(partitions)))
        return done / SECONDS, done / (time.process_time() - began_cpu)

    async def load(self, records: int) -> tuple[float, float, float]:
        """Seconds to write every other record of a window, to load the coordinator, and to read the state."""
        await self.broker.initialize(0)
        began = time.perf_counter()
        data = write.PartitionData(
            partition=0,
            state_epoch=1,
            leader_epoch=-1,
            start_offset=0,
            state_batches=[
                write.StateBatch(first_offset=2 * n, last_offset=2 * n, delivery_state=2, delivery_count=1)
                for n in range(records)
            ],
        )
        topic = write.WriteStateData(topic_id=TOPIC_ID, partitions=[data])
        request = write.WriteShareGroupStateRequest(group_id=GROUP, topics=[topic])
        response = await self.broker.persister.write(request)
        assert not response.results[0].partitions[0].error_code
        written = time.perf_counter()
        self.cluster.lead(1)
        await asyncio.gather(*self.broker.states.service._loading.values())
        loaded = time.perf_counter()
        result = await self.broker.read(0)
        assert len(result.state_batches) == records
        return written - began, loaded - written, time.perf_counter() - loaded

    async def share_partition(self, records: int) -> tuple[float, float]:
        """Seconds until a share partition with the state of `load` is loaded, and of CPU in its longest
        turn."""
        rig = ShareRig()
        for _ in range(2 * records // PRODUCED):
            rig.produce(*[b""] * PRODUCED)
        rig.shares = SharePartitions(rig.clock, rig.metadata, rig.hosted, self.broker.persister)
        gc.freeze()  # as a broker does
        began = time.perf_counter()
        led = rig.shares.find(GROUP, TOPIC_ID, 0)
        longest, before = 0.0, time.process_time()
        while not led.is_loaded:
            await asyncio.sleep(0)
            now = time.process_time()
            longest, before = max(longest, now - before), now
        return time.perf_counter() - began, longest


async def main() -> None:
    for partitions in (1, 8):
        for window in (2_000, 1_000_000):
            rate, of_cpu = await Bench().writes(partitions, window)
            print(
                f"{partitions} partitions, window {window:>9,}: {rate:,.0f} writes/s, {of_cpu:,.0f} a CPU s"
            )
    for records in (10_000, 100_000, 500_000):
        bench = Bench()
        wrote, loaded, read = await bench.load(records)
        print(
            f"{records:>9,} batches: written in {wrote:.2f} s, loaded in {loaded:.2f} s, read in {read:.2f} s"
        )
        took, turn = await bench.share_partition(records)
        print(f"{records:>9,} batches: share partition loaded in {took:.2f} s, {turn * 1000:.1f} ms a turn")


if __name__ == "__main__":
    asyncio.run(main())
