"""What `durability=fsync` costs beside `os` when many partitions are written at once, and with one alone.

    python -m benches.group_commit [--rounds N] [--partitions 8,1000]

One-record requests with acks=all over 8 connections, each with one unanswered, in turn to all partitions.
Rounds of `os`, `fsync`, and `fsync` without a journal alternate; their medians count.
"""

import argparse
from collections.abc import Iterator
from contextlib import ExitStack
from typing import NamedTuple

from benches.rig.broker_process import BrokerProcess
from benches.rig.frames import batch_of, create_topic, delete_topic, produce_frame
from benches.rig.load import Load, answer_size, replay
from benches.rig.report import machine, show
from benches.versus.figures import Figure, Rounds

BATCH_BYTES = 170
CONNECTIONS = 8
PARTITIONS = (8, 1000)
COUNTS = {"os": 40_000, "fsync": 16_000, "fsync, no journal": 5_000}
SETTINGS = {
    "os": {"durability": "os"},
    "fsync": {"durability": "fsync"},
    "fsync, no journal": {"durability": "fsync", "log.journal.bytes": "0"},
}


OS, FSYNC, ALONE = SETTINGS
RATE, CPU = Figure("rate", "requests/s", True, 0.25), Figure("broker CPU", "us/request", False, 5.0)
P99 = Figure("p99", "ms", False)
"""The goals are for `fsync` as a multiple of `os`."""


class Cost(NamedTuple):
    """In the order RATE, CPU, P99."""

    rate: float
    cpu_us: float
    p99_ms: float


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
    return Cost(done.rate, cpu / done.requests * 1e6, done.p99_ms)


def compare(
    brokers: dict[str, BrokerProcess], partitions: int, connections: int, rounds: int
) -> tuple[str, list[Rounds]]:
    """The name of the workload, and what the rounds of each durability brought."""
    found = [Rounds(figure) for figure in (RATE, CPU, P99)]
    for _ in range(rounds):
        for name, broker in brokers.items():
            cost = produce(broker, partitions, connections, COUNTS[name])
            for figure, value in zip(found, cost, strict=True):
                figure.add(name, value)
    return f"one-record requests, acks=all, {partitions:,} partitions, {connections} connections", found


def compare_all(rounds: int, sides: tuple[str, ...] = (OS, FSYNC)) -> Iterator[tuple[str, list[Rounds]]]:
    with ExitStack() as stack:
        brokers = {name: stack.enter_context(BrokerProcess(SETTINGS[name])) for name in sides}
        for partitions in PARTITIONS:
            yield compare(brokers, partitions, CONNECTIONS, rounds)


def print_all(title: str, found: list[Rounds], connections: int) -> None:
    for figure in found:
        for name, value in figure.medians().items():
            show(f"{title}, {name}: {figure.figure.name}", value, figure.figure.unit)
    rate, cpu, _ = found
    if connections > 1:
        show(f"{title}: rate of fsync to os", rate.ratio(FSYNC, OS) or 0.0, "", at_least=RATE.goal)
        show(f"{title}: CPU of fsync to os", cpu.ratio(FSYNC, OS) or 0.0, "", at_most=CPU.goal)
    show(f"{title}: rate with a journal to that without", rate.ratio(FSYNC, ALONE) or 0.0, "", at_least=0.9)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--partitions", default=",".join(map(str, PARTITIONS)))
    options = parser.parse_args()
    print(machine())
    with ExitStack() as stack:
        brokers = {name: stack.enter_context(BrokerProcess(given)) for name, given in SETTINGS.items()}
        print_all(*compare(brokers, 1, 1, options.rounds), connections=1)
        for partitions in map(int, options.partitions.split(",")):
            print_all(*compare(brokers, partitions, CONNECTIONS, options.rounds), connections=CONNECTIONS)


if __name__ == "__main__":
    main()
