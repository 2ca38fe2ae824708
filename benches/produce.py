"""What producing costs: broker CPU per 16 KiB request, and 1 MiB requests against bare recv + pwrite.

    python -m benches.produce [--rounds N] [--loop asyncio|uvloop]

The load comes from another process, as prebuilt frames with acks=1 over durability `os`.
"""

import argparse

from benches.rig.bare import receive_and_write, serving
from benches.rig.broker_process import BrokerProcess
from benches.rig.frames import batch_of, create_topic, delete_topic, end_offset, produce_frame, records_in
from benches.rig.load import MIB, Load, answer_size, replay
from benches.rig.report import machine, show

SMALL = 16 * 1024
# Short rounds, and the topic is deleted after each: the page cache then takes memory that was used a moment
# ago. Memory that a virtual machine touches for the first time costs more than all the rest together.
SMALL_COUNT = 8_000
LARGE_COUNT = 300


def produce(
    broker: BrokerProcess, size: int, count: int, connections: int, window: int
) -> tuple[float, float]:
    """(broker CPU seconds, wall seconds) for `count` requests to a new topic, each checked to be written."""
    create_topic(broker.address, "bench")
    batch = batch_of(size)
    request = produce_frame("bench", batch)
    answer = answer_size(broker.address, request)
    before = broker.cpu_seconds()
    wall = replay(broker.address, Load(request, count, answer, connections, window)).seconds
    cpu = broker.cpu_seconds() - before
    written = end_offset(broker.address, "bench") // records_in(batch)
    delete_topic(broker.address, "bench")
    if written != count + 1:
        raise RuntimeError(f"{written} batches are in the log, {count + 1} were sent")
    return cpu, wall


def small_requests(broker: BrokerProcess, rounds: int) -> None:
    for connections, window in ((1, 5), (4, 5), (4, 64)):
        best = min(produce(broker, SMALL, SMALL_COUNT, connections, window) for _ in range(rounds))
        name = f"16 KiB produce, {connections} connections, {window} in flight each"
        show(f"{name}: broker CPU", best[0] / SMALL_COUNT * 1e6, "us", at_most=30)
        show(f"{name}: throughput", SMALL_COUNT * SMALL / best[1] / 1e6, "MB/s")


def large_requests(broker: BrokerProcess, rounds: int) -> None:
    request = produce_frame("bench", batch_of(MIB))
    ours = bare = float("inf")
    for _ in range(rounds):
        with serving(receive_and_write(bytes(64))) as address:
            bare = min(bare, replay(address, Load(request, LARGE_COUNT, 64, 1, 5)).seconds)
        ours = min(ours, produce(broker, MIB, LARGE_COUNT, 1, 5)[1])
    show("1 MiB produce: throughput", LARGE_COUNT * MIB / ours / 1e6, "MB/s")
    show("1 MiB, bare recv + pwrite: throughput", LARGE_COUNT * MIB / bare / 1e6, "MB/s")
    show("1 MiB produce: share of bare", bare / ours, "", at_least=0.5)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--loop", choices=("auto", "asyncio", "uvloop"), default="auto")
    options = parser.parse_args()
    print(machine())
    with BrokerProcess({"event.loop": options.loop}) as broker:
        small_requests(broker, options.rounds)
        large_requests(broker, options.rounds)


if __name__ == "__main__":
    main()
