"""What a broker costs that serves nothing, by the number of brokers: CPU, memory, connections.

Each broker leads a partition for every other one and follows a partition of every other one, so all pairs
have a connection and a fetch that waits, as on machines with many cores and many partitions.
"""

import time

import psutil

from benches.rig.cluster_process import RunningCluster, running_cluster
from benches.rig.frames import call
from benches.rig.report import show
from benches.scaling.fitted import line
from benches.versus.processes import cpu_seconds
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from tidelog.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
)

SIZES = (3, 8, 16, 32, 48)
CALM_SECONDS, WATCH_SECONDS = 6.0, 12.0
SETTINGS = {"durability": "os", "metrics.port": "0", "schema.registry.port": "0"}


def main() -> None:
    others, controllers, memory = [], [], []
    for size in SIZES:
        with running_cluster(SETTINGS, size) as cluster:
            pids = {int(broker["node_id"]): int(broker["pid"]) for broker in cluster.facts["brokers"]}
            all_pairs(cluster, sorted(pids))
            time.sleep(CALM_SECONDS)
            before = {id: cpu_seconds([pid]) for id, pid in pids.items()}
            began = time.perf_counter()
            time.sleep(WATCH_SECONDS)
            seconds = time.perf_counter() - began
            busy = {id: (cpu_seconds([pid]) - before[id]) / seconds for id, pid in pids.items()}
            leads = controller(cluster)
            plain = [share for id, share in busy.items() if id != leads]
            full = [psutil.Process(pid).memory_full_info() for pid in pids.values()]
            connections = sum(
                len(
                    [one for one in psutil.Process(pid).net_connections("tcp") if one.status == "ESTABLISHED"]
                )
                for pid in pids.values()
            )
        name = f"{size} idle brokers"
        others.append((size, sum(plain) / len(plain)))
        controllers.append((size, busy[leads]))
        memory.append((size, sum(one.uss for one in full) / size))
        show(f"{name}: CPU of a broker", others[-1][1] * 100, "% of a core")
        show(f"{name}: CPU of the controller", controllers[-1][1] * 100, "% of a core")
        show(f"{name}: memory of its own, a broker", memory[-1][1] / 1e6, "MB")
        show(f"{name}: resident memory, a broker", sum(one.rss for one in full) / size / 1e6, "MB")
        show(f"{name}: connections, a broker", connections / size, "")
    for name, points, factor, unit in (
        ("CPU of a broker", others, 1e6, "us a second"),
        ("CPU of the controller", controllers, 1e6, "us a second"),
        ("memory of its own, a broker", memory, 1e-3, "kB"),
    ):
        fit = line(points)
        show(f"{name}: base", fit.base * factor, unit)
        show(f"{name}: for each broker of the cluster", fit.slope * factor, unit)


def all_pairs(cluster: RunningCluster, ids: list[int]) -> None:
    pairs = [[leader, follower] for leader in ids for follower in ids if leader != follower]
    assignments = [
        CreatableReplicaAssignment(partition_index=index, broker_ids=pair) for index, pair in enumerate(pairs)
    ]
    topic = CreatableTopic(name="pairs", num_partitions=-1, replication_factor=-1, assignments=assignments)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=60_000)
    [made] = call(cluster.address, ApiKey.CREATE_TOPICS, 7, request).topics
    if made.error_code:
        raise RuntimeError(made.error_message)


def controller(cluster: RunningCluster) -> int:
    part = DescribeQuorumRequestPartitionData(partition_index=0)
    asked = DescribeQuorumRequestTopicData(topic_name="__cluster_metadata", partitions=[part])
    answer = call(cluster.address, ApiKey.DESCRIBE_QUORUM, 2, DescribeQuorumRequest(topics=[asked]))
    return int(answer.topics[0].partitions[0].leader_id)
