"""The model against measurements: a load that is spread over all brokers of clusters of 3, 6 and 12.

Each broker leads as many partitions as each other one, and follows all others, as the cores of machines do.
The CPU of all brokers for a request is shown beside what `tidelog plan` computes for the same rate.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from benches.rig.cluster_process import Address, RunningCluster, running_cluster
from benches.rig.frames import batch_of, call, produce_frame
from benches.rig.load import Load as Sent
from benches.rig.load import answer_size, replay
from benches.rig.report import show
from benches.versus.processes import cpu_seconds
from tidelog.cli.plan.busy import busy
from tidelog.cli.plan.load import Load
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

SIZES, PARTITIONS_EACH, ROUNDS = (3, 6, 12), 11, 2


class Kind(NamedTuple):
    size: int
    """Bytes of a request."""
    in_flight: int
    """To each broker, over two connections."""
    count: int
    """Requests of a round."""


KINDS = (Kind(1024, 2, 12_000), Kind(1024, 8, 24_000), Kind(16 * 1024, 2, 8_000))
COUNT_SHARE = {"os": 1, "fsync": 3}
METADATA_VERSION = 9


def main() -> None:
    for durability in ("os", "fsync"):
        for size in SIZES:
            settings = {"durability": durability, "metrics.port": "0", "schema.registry.port": "0"}
            with running_cluster(settings, size) as cluster:
                leaders = create(cluster, size * PARTITIONS_EACH)
                time.sleep(4)
                for kind in KINDS:
                    compare(cluster, leaders, durability, kind)


def compare(cluster: RunningCluster, leaders: dict[int, Address], durability: str, kind: Kind) -> None:
    count = kind.count // COUNT_SHARE[durability]
    done = [measure(cluster, leaders, kind, count) for _ in range(ROUNDS)]
    rate, cost = min(done, key=lambda round_: round_[1])
    size = len(cluster.facts["brokers"])
    name = f"{durability}, {size} brokers, {kind.size // 1024} KiB, {kind.in_flight} in flight to each"
    show(f"{name}: rate", rate, "requests/s")
    show(f"{name}: CPU of all brokers", cost, "us/request")
    show(f"{name}: by the model", computed(size, rate, kind.size, durability), "us/request")


def create(cluster: RunningCluster, partitions: int) -> dict[int, Address]:
    """The address of each partition's leader."""
    topic = CreatableTopic(name="mesh", num_partitions=partitions, replication_factor=3)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=60_000)
    [made] = call(cluster.address, ApiKey.CREATE_TOPICS, 7, request).topics
    if made.error_code:
        raise RuntimeError(made.error_message)
    wanted = MetadataRequest(topics=[MetadataRequestTopic(name="mesh")], allow_auto_topic_creation=False)
    answer = call(cluster.address, ApiKey.METADATA, METADATA_VERSION, wanted)
    brokers = {broker.node_id: (broker.host, broker.port) for broker in answer.brokers}
    return {one.partition_index: brokers[one.leader_id] for one in answer.topics[0].partitions}


def measure(
    cluster: RunningCluster, leaders: dict[int, Address], kind: Kind, count: int
) -> tuple[float, float]:
    """Requests a second, and CPU microseconds of all brokers for each."""
    pids = [int(broker["pid"]) for broker in cluster.facts["brokers"]]
    batch = batch_of(kind.size)
    frames: dict[Address, list[bytes]] = {}
    for partition, where in leaders.items():
        frames.setdefault(where, []).append(produce_frame("mesh", batch, partition=partition, acks=-1))
    loads = [
        (
            where,
            Sent(
                b"".join(some),
                count // len(frames),
                answer_size(where, some[0]),
                2,
                kind.in_flight // 2,
                len(some),
            ),
        )
        for where, some in frames.items()
    ]
    before, began = cpu_seconds(pids), time.perf_counter()
    with ThreadPoolExecutor(len(loads)) as threads:
        done = sum(one.requests for one in threads.map(lambda load: replay(*load), loads))
    seconds = time.perf_counter() - began
    return done / seconds, (cpu_seconds(pids) - before) / done * 1e6


def computed(brokers: int, rate: float, size: int, durability: str) -> float:
    load = Load(
        messages_per_second=rate,
        message_bytes=size,
        batch_bytes=size,
        retention_s=0,
        groups=0,
        peak=1.0,
        durability=durability,
        partitions=brokers * PARTITIONS_EACH,
    )
    return busy(load, brokers).cores / rate * 1e6
