"""What replication costs: a partition on three brokers of this machine, beside one on a single broker.

    python -m benches.replication [--rounds N]

Throughput: 16 KiB requests with acks=all. Latency: one request of 1 KB every 2 ms, acks=all beside acks=1.
Durability is `os` everywhere, so that the disk is not what is measured.
"""

import argparse
import socket
import struct
import time

from benches.rig.broker_process import BrokerProcess
from benches.rig.cluster_process import running_cluster
from benches.rig.frames import batch_of, call, delete_topic, end_offset, produce_frame, records_in
from benches.rig.load import Load, answer_size, connect, replay
from benches.rig.report import machine, show
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from tidelog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

Address = tuple[str, int]
SIZE = 16 * 1024
COUNT = 4_000
RATE_SECONDS = 0.002
LATENCY_COUNT = 2_000


def create(address: Address, name: str, replicas: int) -> Address:
    """Where the topic's leader is."""
    configs = [("durability", "os"), ("min.insync.replicas", str(min(replicas, 2)))]
    topic = CreatableTopic(
        name=name,
        num_partitions=1,
        replication_factor=replicas,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs],
    )
    [made] = call(
        address, ApiKey.CREATE_TOPICS, 7, CreateTopicsRequest(topics=[topic], timeout_ms=60_000)
    ).topics
    if made.error_code:
        raise RuntimeError(made.error_message)
    wanted = MetadataRequest(topics=[MetadataRequestTopic(name=name)])
    answer = call(address, ApiKey.METADATA, 12, wanted)
    leader = answer.topics[0].partitions[0].leader_id
    [where] = [(broker.host, broker.port) for broker in answer.brokers if broker.node_id == leader]
    time.sleep(0.5)  # its followers come to it
    return where


def throughput(address: Address, replicas: int, connections: int, window: int) -> float:
    """MB/s with acks=all, each request checked to be written."""
    leader = create(address, "bench", replicas)
    batch = batch_of(SIZE)
    request = produce_frame("bench", batch, acks=-1)
    size = answer_size(leader, request)
    seconds = replay(leader, Load(request, COUNT, size, connections, window)).seconds
    written = end_offset(leader, "bench") // records_in(batch)
    delete_topic(address, "bench")
    if written != COUNT + 1:
        raise RuntimeError(f"{written} batches are in the log, {COUNT + 1} were sent")
    return COUNT * SIZE / seconds / 1e6


def latencies(address: Address, acks: int) -> list[float]:
    """Milliseconds at a moderate fixed rate, one after the other; sorted."""
    leader = create(address, "bench", 3)
    request = produce_frame("bench", batch_of(1024), acks=acks)
    found = []
    with connect(leader) as sock:
        due = time.perf_counter()
        for number in range(LATENCY_COUNT + 200):
            due = max(due + RATE_SECONDS, time.perf_counter())
            time.sleep(max(0.0, due - time.perf_counter()))
            began = time.perf_counter()
            sock.sendall(request)
            (size,) = struct.unpack(">i", sock.recv(4, socket.MSG_WAITALL))
            sock.recv(size, socket.MSG_WAITALL)
            if number >= 200:
                found.append((time.perf_counter() - began) * 1000)
    delete_topic(address, "bench")
    return sorted(found)


def at(sorted_values: list[float], share: float) -> float:
    return sorted_values[int(len(sorted_values) * share)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    print(machine())
    with BrokerProcess() as broker:
        alone = max(throughput(broker.address, 1, 4, 16) for _ in range(rounds))
    show("one broker, 16 KiB, acks=all: throughput", alone, "MB/s")
    with running_cluster() as cluster:
        address = cluster.address
        three = max(throughput(address, 3, 4, 16) for _ in range(rounds))
        show("three brokers, 16 KiB, acks=all: throughput", three, "MB/s")
        show("three brokers: share of one broker's rate", three / alone, "", at_least=1 / 3)
        runs = {acks: [latencies(address, acks) for _ in range(rounds)] for acks in (1, -1)}
    best = {acks: min(found, key=lambda run: at(run, 0.99)) for acks, found in runs.items()}
    for acks, run in best.items():
        name = "all" if acks < 0 else str(acks)
        show(f"three brokers, 500 requests/s, acks={name}: median", at(run, 0.5), "ms")
        show(f"three brokers, 500 requests/s, acks={name}: p99", at(run, 0.99), "ms")
    show("what acks=all adds to the p99 of acks=1", at(best[-1], 0.99) - at(best[1], 0.99), "ms", at_most=5)


if __name__ == "__main__":
    main()
