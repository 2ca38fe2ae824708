"""Transactions: one producer, a hundred records of 1 KB over three partitions with three replicas each."""

import time
import uuid
from collections.abc import Iterator, Mapping
from functools import partial

from confluent_kafka import Producer

from benches.versus.figures import Figure
from benches.versus.systems import System
from benches.versus.workload import Arena, Workload

RECORDS, RECORD_BYTES, PARTITIONS = 100, 1000, 3
WARM_UP = 20
SECONDS = 6.0
VALUE = bytes(RECORD_BYTES)
COMMITS = Figure("commits", "transactions/s", True, 1.0)
CPU_PER_COMMIT = Figure("broker CPU", "ms/transaction", False)


def commit(system: System, seconds: float) -> Mapping[str, float]:
    topic = system.new_topic(PARTITIONS)
    producer = Producer(
        {
            "bootstrap.servers": system.servers,
            "transactional.id": f"bench-{uuid.uuid4()}",
            "linger.ms": 0,
            "log_level": 0,
        }
    )
    producer.init_transactions(60)
    for _ in range(WARM_UP):
        _transaction(producer, topic)
    cpu, began, count = system.cpu_seconds(), time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        _transaction(producer, topic)
        count += 1
    took = time.perf_counter() - began
    cpu = system.cpu_seconds() - cpu
    system.delete_topic(topic)
    return {COMMITS.name: count / took, CPU_PER_COMMIT.name: cpu / count * 1000}


def _transaction(producer: Producer, topic: str) -> None:
    producer.begin_transaction()
    for number in range(RECORDS):
        producer.produce(topic, VALUE, partition=number % PARTITIONS)
    producer.commit_transaction(60)


def workloads(scale: float) -> Iterator[Workload]:
    run = partial(commit, seconds=max(1.0, SECONDS * scale))
    yield Workload(
        "transactions of 100 x 1000 B, three replicas", Arena(brokers=3), (COMMITS, CPU_PER_COMMIT), run
    )
