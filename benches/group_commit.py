"""What `durability=fsync` costs beside `os` when many partitions are written at once, and with one alone.

    python -m benches.group_commit [--rounds N] [--partitions 8,1000]

One-record requests with acks=all over 8 connections, each with one unanswered, in turn to all partitions.
Rounds of `os`, `fsync`, and `fsync` without a journal alternate; the best of each counts.
"""

import argparse
from contextlib import ExitStack
from typing import NamedTuple

from benches.rig.broker_process import BrokerProcess
from benches.rig.frames import batch_of, create_topic, delete_topic, produce_frame
from benches.rig.load import Load, answer_size, replay
from benches.rig.report import machine, show

BATCH_BYTES = 170
CONNECTIONS = 8
COUNTS = {"os": 40_000, "fsync": 16_000, "fsync, no journal": 5_000}
SETTINGS = {
    "os": {"durability": "os"},
    "fsync": {"durability": "fsync"},
    "fsync, no journal": {"durability": "fsync", "log.journal.bytes": "0"},
}


class Cost(NamedTuple):
    rate: float
    cpu_us: float


def produce(broker: BrokerProcess, partitions: int, connections: int, count: int) -> Cost:
    create_topic(broker.address, "bench", partitions)
    batch = batch_of(BATCH_BYTES)
    frames = [produce_frame("bench", batch, partition=number, acks=-1) for number in range(partitions)]
    answer = answer_size(broker.address, frames[0])
    # Once round, so that every log has its files: a new one is synced on its own.
    replay(broker.address, Load(b"".join(frames), max(partitions, 2_000), answer, connections, 1, partitions))
    before = broker.cpu_seconds()
    done = replay(broker.address, Load(b"".join(frames), count, answer, connections, 1, partitions))
    cpu = broker.cpu_seconds() - before
    delete_topic(broker.address, "bench")
    return Cost(done.rate, cpu / done.requests * 1e6)


def compare(brokers: dict[str, BrokerProcess], partitions: int, connections: int, rounds: int) -> None:
    best: dict[str, Cost] = {}
    for _ in range(rounds):
        for name, broker in brokers.items():
            cost = produce(broker, partitions, connections, COUNTS[name])
            known = best.get(name, cost)
            best[name] = Cost(max(known.rate, cost.rate), min(known.cpu_us, cost.cpu_us))
    title = f"{partitions} partitions, {connections} connections"
    for name, cost in best.items():
        show(f"{title}, {name}: rate", cost.rate, "/s")
        show(f"{title}, {name}: broker CPU", cost.cpu_us, "us")
    ours, plain, alone = best["fsync"], best["os"], best["fsync, no journal"]
    if connections > 1:
        show(f"{title}: rate of fsync to os", ours.rate / plain.rate, "", at_least=0.25)
        show(f"{title}: CPU of fsync to os", ours.cpu_us / plain.cpu_us, "", at_most=5)
    show(f"{title}: rate with a journal to that without", ours.rate / alone.rate, "", at_least=0.9)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--partitions", default="8,1000")
    options = parser.parse_args()
    print(machine())
    with ExitStack() as stack:
        brokers = {name: stack.enter_context(BrokerProcess(given)) for name, given in SETTINGS.items()}
        compare(brokers, 1, 1, options.rounds)
        for partitions in map(int, options.partitions.split(",")):
            compare(brokers, partitions, CONNECTIONS, options.rounds)


if __name__ == "__main__":
    main()
