"""What transactions cost: commits a second, idempotence beside plain writes, readers of committed records.

    python -m benches.transactions [--rounds N] [--seconds S]

One producer, transactions of 100 records of 1 KB over three partitions on three brokers, durability `os`.
Every figure is the median of its rounds; what is compared runs in alternation.
"""

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from benches.rig.broker_process import BrokerProcess
from benches.rig.cluster_process import RunningCluster, running_cluster
from benches.rig.frames import call, create_topic, delete_topic
from benches.rig.numbered_frames import produce_frames, send_all
from benches.rig.report import machine, show
from benches.rig.transactor import Transactor
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest

RECORDS, RECORD_BYTES, PARTITIONS = 100, 1024, 3
PLAIN_RECORDS = 40_000
READ_TRANSACTIONS = 400
FRAMES, FRAME_BYTES = 1_000, 16 * 1024
VALUE = bytes(RECORD_BYTES)
TOPIC = "bench"
SETTINGS = {"durability": "os", "transaction.state.log.num.partitions": "6"}
"""The log of transactions too: with `fsync` a commit would wait for the disk five times."""


def create(cluster: RunningCluster) -> None:
    topic = CreatableTopic(
        name=TOPIC,
        num_partitions=PARTITIONS,
        replication_factor=3,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in (("durability", "os"),)],
    )
    [made] = call(
        cluster.address, ApiKey.CREATE_TOPICS, 7, CreateTopicsRequest(topics=[topic], timeout_ms=60_000)
    ).topics
    if made.error_code:
        raise RuntimeError(made.error_message)
    time.sleep(1)  # its followers come to it


def idle_share(cluster: RunningCluster, seconds: float) -> float:
    """What the brokers use of a core while nothing happens."""
    before = cluster.cpu_seconds()
    time.sleep(seconds)
    return (cluster.cpu_seconds() - before) / seconds


def commits(
    cluster: RunningCluster, run: Callable[[], None], seconds: float, idle: float
) -> tuple[float, float]:
    """Transactions a second, and CPU milliseconds of the brokers for each, above what they use when idle."""
    for _ in range(20):
        run()
    before, began, count = cluster.cpu_seconds(), time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        run()
        count += 1
    took = time.perf_counter() - began
    return count / took, (cluster.cpu_seconds() - before - idle * took) / count * 1000


def library_transaction(servers: str) -> Callable[[], None]:
    producer = Producer(
        {"bootstrap.servers": servers, "transactional.id": "bench-library", "linger.ms": 0, "log_level": 0}
    )
    producer.init_transactions(60)

    def run() -> None:
        producer.begin_transaction()
        for number in range(RECORDS):
            producer.produce(TOPIC, VALUE, partition=number % PARTITIONS)
        producer.commit_transaction(60)

    return run


def measure_commits(cluster: RunningCluster, rounds: int, seconds: float) -> None:
    idle = idle_share(cluster, seconds)
    show("three idle brokers", 100 * idle, "% of a core")
    bare = Transactor(cluster.address, TOPIC, "bench-bare", RECORDS, RECORD_BYTES)
    library = library_transaction(cluster.servers)
    found: dict[str, list[tuple[float, float]]] = {"bare sockets, KIP-890": [], "librdkafka": []}
    for _ in range(rounds):
        for name, run in zip(found, (bare.run, library), strict=True):
            found[name].append(commits(cluster, run, seconds, idle))
    for name, runs in found.items():
        show(f"commits, {name}", median(rate for rate, _ in runs), "/s", at_least=200)
        show(f"commits, {name}: CPU of three brokers", median(cpu for _, cpu in runs), "ms each")
    total = sum(bare.seconds.values())
    for phase, spent in bare.seconds.items():
        show(f"bare sockets: share of the time in {phase}", 100 * spent / total, "%")
    show("bare sockets: requests that were tried again", bare.retries, "")
    bare.close()


def write(servers: str, *, idempotent: bool) -> float:
    """Records a second, acks=all and five requests in flight either way."""
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "enable.idempotence": idempotent,
            "acks": "all",
            "max.in.flight.requests.per.connection": 5,
            "queue.buffering.max.messages": 2 * PLAIN_RECORDS,
            "linger.ms": 5,
        }
    )
    producer.produce(TOPIC, VALUE, partition=0)
    producer.flush(60)
    began = time.perf_counter()
    for number in range(PLAIN_RECORDS):
        producer.produce(TOPIC, VALUE, partition=number % PARTITIONS)
    if producer.flush(120):
        raise RuntimeError("records were not written in time")
    return PLAIN_RECORDS / (time.perf_counter() - began)


def measure_numbered_frames(rounds: int) -> None:
    """The same frames with and without a producer's numbers, five in flight: what the broker alone spends."""
    rates: dict[bool, list[float]] = {False: [], True: []}
    costs: dict[bool, list[float]] = {False: [], True: []}
    with BrokerProcess() as broker:
        for turn in range(rounds):
            for numbered in (False, True) if turn % 2 else (True, False):
                create_topic(broker.address, TOPIC)
                frames = produce_frames(broker.address, TOPIC, FRAMES, FRAME_BYTES, numbered=numbered)
                before = broker.cpu_seconds()
                rates[numbered].append(FRAMES / send_all(broker.address, frames, in_flight=5))
                costs[numbered].append((broker.cpu_seconds() - before) / FRAMES * 1e6)
                delete_topic(broker.address, TOPIC)
    show("16 KiB requests, acks=all, plain", median(rates[False]), "/s")
    show("16 KiB requests, acks=all, numbered", median(rates[True]), "/s")
    loss = 100 * (1 - median(rates[True]) / median(rates[False]))
    show("what numbers cost in throughput", loss, "%", at_most=5)
    for name, of in (("median", median), ("best", min)):
        show(f"CPU of the broker for a plain request, {name}", of(costs[False]), "us")
        more = 100 * (of(costs[True]) / of(costs[False]) - 1)
        show(f"what numbers cost in CPU of the broker, {name}", more, "%", at_most=5)


def measure_idempotence(rounds: int) -> None:
    with BrokerProcess() as broker:
        servers = f"{broker.address[0]}:{broker.address[1]}"
        rates: dict[bool, list[float]] = {False: [], True: []}
        costs: dict[bool, list[float]] = {False: [], True: []}
        for turn in range(rounds):
            for idempotent in (False, True) if turn % 2 else (True, False):
                create_topic(broker.address, TOPIC, PARTITIONS)
                before = broker.cpu_seconds()
                rates[idempotent].append(write(servers, idempotent=idempotent))
                costs[idempotent].append((broker.cpu_seconds() - before) / PLAIN_RECORDS * 1e6)
                delete_topic(broker.address, TOPIC)
    show("plain writes of 1 KB, acks=all", median(rates[False]) / 1000, "k/s")
    show("idempotent writes of 1 KB", median(rates[True]) / 1000, "k/s")
    loss = 100 * (1 - median(rates[True]) / median(rates[False]))
    show("what idempotence costs in throughput", loss, "%", at_most=5)
    more = 100 * (median(costs[True]) / median(costs[False]) - 1)
    show("what idempotence costs in CPU of the broker", more, "%", at_most=5)


def read(servers: str, isolation: str, expected: int) -> float:
    """Records a second, from the first to the last."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "bench",
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "queued.min.messages": 1_000_000,
        }
    )
    consumer.assign([TopicPartition(TOPIC, at, 0) for at in range(PARTITIONS)])
    count, ended, began = 0, set[int](), 0.0
    while len(ended) < PARTITIONS:
        for message in consumer.consume(5_000, 1):
            if message.error() is None:
                began = began or time.perf_counter()  # connecting is not reading
                count += 1
            elif message.error().code() == KafkaError._PARTITION_EOF:
                ended.add(message.partition())
            else:
                raise RuntimeError(str(message.error()))
    took = time.perf_counter() - began
    consumer.close()
    if count < expected:
        raise RuntimeError(f"{count} of {expected} records were read")
    return count / took


def measure_reading(cluster: RunningCluster, rounds: int) -> None:
    writer = Transactor(cluster.address, TOPIC, "bench-read", RECORDS, RECORD_BYTES)
    for _ in range(READ_TRANSACTIONS):
        writer.run()
    writer.close()
    time.sleep(1)  # the last markers
    levels = ("read_uncommitted", "read_committed")
    rates: dict[str, list[float]] = {level: [] for level in levels}
    for turn in range(2 * rounds):
        for level in levels if turn % 2 else reversed(levels):
            rates[level].append(read(cluster.servers, level, READ_TRANSACTIONS * RECORDS))
    plain, committed = (median(rates[level]) for level in levels)
    show("reading all, read_uncommitted", plain / 1000, "k/s")
    show("reading all, read_committed", committed / 1000, "k/s")
    show("read_committed: share of read_uncommitted", committed / plain, "", at_least=0.9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0, help="how long each round of commits lasts")
    asked: Any = parser.parse_args()
    print(machine())
    with running_cluster(SETTINGS) as cluster:
        create(cluster)
        measure_commits(cluster, asked.rounds, asked.seconds)
        measure_reading(cluster, asked.rounds)
    measure_numbered_frames(6 * asked.rounds + 1)
    measure_idempotence(2 * asked.rounds + 1)


if __name__ == "__main__":
    main()
