"""The coefficients of `tidelog plan`: what a request and what a KiB costs a broker, and what partitions hold.

    python -m benches.capacity [--rounds N]

Each cost is a line through measured points, CPU = requests x a + KiB x b, from small and large requests. CPU
is user and system time of the brokers' processes, so that other work on the machine matters little; the best
of the rounds counts.
"""

import argparse
from collections.abc import Callable

from benches.replication import create
from benches.rig.broker_process import BrokerProcess
from benches.rig.cluster_process import running_cluster
from benches.rig.frames import batch_of, create_topic, delete_topic, fetch_frame, produce_frame
from benches.rig.load import Load, answer_size, replay
from benches.rig.report import machine, show

SMALL, LARGE = 1024, 256 * 1024
COUNTS = {SMALL: 20_000, LARGE: 1_000}
CONNECTIONS, WINDOW = 4, 5
PARTITIONS = 2_000


def line(costs: dict[int, float]) -> tuple[float, float]:
    """(us a request, us a KiB) through the two sizes."""
    a_kib = (costs[LARGE] - costs[SMALL]) / ((LARGE - SMALL) / 1024)
    return costs[SMALL] - a_kib * SMALL / 1024, a_kib


def best(rounds: int, cost: Callable[[int], float]) -> dict[int, float]:
    return {size: min(cost(size) for _ in range(rounds)) * 1e6 for size in COUNTS}


def produce(broker: BrokerProcess, size: int, partitions: int = 1) -> float:
    """CPU seconds of one request."""
    create_topic(broker.address, "bench", partitions)
    request = produce_frame("bench", batch_of(size), acks=-1)
    answer = answer_size(broker.address, request)
    before = broker.cpu_seconds()
    replay(broker.address, Load(request, COUNTS[size], answer, CONNECTIONS, WINDOW))
    cpu = broker.cpu_seconds() - before
    delete_topic(broker.address, "bench")
    return cpu / COUNTS[size]


def fetch(broker: BrokerProcess, size: int) -> float:
    create_topic(broker.address, "read")
    answer_size(broker.address, produce_frame("read", batch_of(size), acks=-1))
    request = fetch_frame("read", 0, size)
    answer = answer_size(broker.address, request)
    before = broker.cpu_seconds()
    replay(broker.address, Load(request, COUNTS[size], answer, CONNECTIONS, WINDOW))
    cpu = broker.cpu_seconds() - before
    delete_topic(broker.address, "read")
    return cpu / COUNTS[size]


def replicated(cluster: object, address: tuple[str, int], size: int) -> float:
    """CPU seconds of all three brokers for one request with acks=all."""
    leader = create(address, "bench", 3)
    request = produce_frame("bench", batch_of(size), acks=-1)
    answer = answer_size(leader, request)
    before = cluster.cpu_seconds()  # type: ignore[attr-defined]
    replay(leader, Load(request, COUNTS[size], answer, CONNECTIONS, WINDOW))
    cpu = float(cluster.cpu_seconds() - before)  # type: ignore[attr-defined]
    delete_topic(address, "bench")
    return cpu / COUNTS[size]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print(machine())
    with BrokerProcess() as broker:
        written = best(rounds, lambda size: produce(broker, size))
        read = best(rounds, lambda size: fetch(broker, size))
        before = broker.process.memory_info().rss
        create_topic(broker.address, "many", PARTITIONS)
        held = broker.process.memory_info().rss - before
    with BrokerProcess({"durability": "fsync"}) as broker:
        synced = best(rounds, lambda size: produce(broker, size))
    with running_cluster({"durability": "os"}) as cluster:
        copied = best(rounds, lambda size: replicated(cluster, cluster.address, size))
    for name, costs in (
        ("produce", written),
        ("produce, each request synced", synced),
        ("fetch", read),
        ("one more replica", {size: (copied[size] - written[size]) / 2 for size in copied}),
    ):
        a_request, a_kib = line(costs)
        show(f"{name}: CPU a request", a_request, "us")
        show(f"{name}: CPU a KiB", a_kib, "us")
    show("a broker without load: memory", before / 1e6, "MB")
    show("a partition: memory", held / PARTITIONS / 1e3, "KB")


if __name__ == "__main__":
    main()
