"""How long a broker takes to come back: 1,000 partitions after a clean stop, 10 GB after kill -9.

    python -m benches.restart [--partitions N] [--gigabytes N]

BENCH_DIR names a folder with room for the data. What a start reads from files is what the system counts for
the process (rchar: also what the page cache answers), modules and settings included.
"""

import argparse
import time

from benches.rig.broker_process import BrokerProcess
from benches.rig.frames import batch_of, create_topic, end_offset, produce_frame, records_in
from benches.rig.load import MIB, Load, answer_size, replay
from benches.rig.report import machine, show

CHECKPOINT_MS = 2_000
PARTITIONS_PER_TOPIC = 100


def restart(broker: BrokerProcess) -> tuple[float, float]:
    """(seconds from the start of the process until it answers, megabytes it read by then)."""
    began = time.perf_counter()
    broker.start()
    return time.perf_counter() - began, broker.process.io_counters().read_chars / 1e6


def many_partitions(count: int) -> None:
    with BrokerProcess() as broker:
        for number in range(count // PARTITIONS_PER_TOPIC):
            topic = f"topic-{number}"
            create_topic(broker.address, topic, PARTITIONS_PER_TOPIC)
            batch = batch_of(1024)
            for index in range(PARTITIONS_PER_TOPIC):
                request = produce_frame(topic, batch, partition=index)
                if not index:
                    answer = answer_size(broker.address, request)
                replay(broker.address, Load(request, 3, answer, 1, 3))
        began = time.perf_counter()
        broker.stop()
        show(f"{count} partitions: clean stop", time.perf_counter() - began, "s")
        show(f"{count} partitions: clean restart", restart(broker)[0], "s", at_most=2)
        broker.kill()
        show(f"{count} partitions: restart after kill -9", restart(broker)[0], "s")


def large_partition(gigabytes: float) -> None:
    # Known to be flushed is what was synced and checkpointed: under `os` only sealed segments, under the
    # other policies nearly everything.
    for durability in ("os", "interval"):
        settings = {
            "durability": durability,
            "log.flush.offset.checkpoint.interval.ms": str(CHECKPOINT_MS),
        }
        with BrokerProcess(settings) as broker:
            empty_megabytes = broker.process.io_counters().read_chars / 1e6
            create_topic(broker.address, "large")
            batch = batch_of(MIB)
            request = produce_frame("large", batch)
            answer = answer_size(broker.address, request)
            count = int(gigabytes * 1e9) // MIB
            seconds = replay(broker.address, Load(request, count - 1, answer, 1, 5)).seconds
            name = f"{gigabytes:g} GB, durability {durability}"
            show(f"{name}: written at", count * MIB / seconds / 1e6, "MB/s")
            time.sleep(2 * CHECKPOINT_MS / 1000)
            broker.kill()
            seconds, megabytes = restart(broker)
            show(f"{name}: restart after kill -9", seconds, "s")
            show(f"{name}: read during that", megabytes - empty_megabytes, "MB")
            if end_offset(broker.address, "large") != count * records_in(batch):
                raise RuntimeError("records are missing after the restart")
            broker.stop()
            show(f"{name}: clean restart", restart(broker)[0], "s")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--gigabytes", type=float, default=10)
    options = parser.parse_args()
    print(machine())
    many_partitions(options.partitions)
    large_partition(options.gigabytes)


if __name__ == "__main__":
    main()
