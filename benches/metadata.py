"""What the controller's decisions cost on a cluster with 10,000 partitions: to decide, and to apply.

Run it with `python -m benches.metadata`. Each line is one run: a decision changes what the next one sees.
"""

import time
from collections.abc import Callable
from typing import Any

from tidelog.base.ids import NodeId, uuid_text
from tidelog.metadata.brokers.brokers import (
    decide_controlled_shutdown,
    decide_fence_broker,
    decide_register_broker,
    decide_unfence_broker,
)
from tidelog.metadata.decision import Decision
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.image.records import BrokerRegistered, ClusterCreated, encode_record
from tidelog.metadata.leaders.balance import plan_drain, plan_rebalance
from tidelog.metadata.leaders.layout import PlacedPartition, Spot
from tidelog.metadata.leaders.partition_changes import PartitionAlteration, decide_alter_partition
from tidelog.metadata.topics.create_topics import NewTopic, TopicDefaults, decide_create_topics

BROKERS = 3
PARTITIONS = 10_000


def numbered(number: int) -> bytes:
    return number.to_bytes(16, "big")


def cluster(topics: int) -> ClusterImage:
    image = advance(ClusterImage(), [ClusterCreated("bench")]).after
    for broker in range(1, BROKERS + 1):
        folder = (uuid_text(numbered(1000 + broker)),)
        image = image.apply(
            BrokerRegistered(broker, broker, uuid_text(numbered(broker)), (), directories=folder)
        )
    ids = iter(range(1, topics + 1))
    wanted = [NewTopic(f"topic-{number}", PARTITIONS // topics, BROKERS) for number in range(topics)]
    made = decide_create_topics(image, wanted, defaults=TopicDefaults(), new_id=lambda: numbered(next(ids)))
    return advance(image, made.records).after


def measure(name: str, image: ClusterImage, decide: Callable[[ClusterImage], Decision[Any]]) -> ClusterImage:
    began = time.perf_counter()
    decision = decide(image)
    decided = time.perf_counter()
    after = advance(image, decision.records).after
    applied = time.perf_counter()
    size = sum(len(encode_record(record)) for record in decision.records)
    print(
        f"  {name:22} {len(decision.records):6} records {size / 1024:7.0f} KiB"
        f"   decide {1000 * (decided - began):6.1f} ms   apply {1000 * (applied - decided):6.1f} ms"
    )
    return after


def shrink(image: ClusterImage, leader: NodeId) -> Decision[Any]:
    """One leader loses a follower of one partition: the most frequent change of all."""
    topic, partition = next(found for found in image.partitions() if found[1].leader == leader)
    change = PartitionAlteration(
        topic.id, partition.index, partition.leader_epoch, partition.partition_epoch, [(leader, -1)]
    )
    return decide_alter_partition(image, leader, image.brokers[leader].epoch, [change])


def restart(image: ClusterImage) -> Decision[Any]:
    return decide_register_broker(
        image,
        broker_id=1,
        epoch=100,
        incarnation=numbered(9),
        endpoints=(),
        directories=[numbered(1001)],
        fenced=True,
    )


def plans(image: ClusterImage) -> None:
    placed = [
        PlacedPartition(topic.name, partition.index, partition.replicas)
        for topic, partition in image.partitions()
    ]
    spots = [Spot(broker) for broker in range(1, BROKERS + 2)]
    began = time.perf_counter()
    moves = plan_rebalance(spots, placed)
    _show_plan("rebalance on 4 brokers", len(moves), time.perf_counter() - began)
    began = time.perf_counter()
    moves = plan_drain(spots, placed, 1)
    _show_plan("drain onto another", len(moves), time.perf_counter() - began)


def _show_plan(name: str, moves: int, seconds: float) -> None:
    print(f"  {name:22} {moves:6} moves {' ':15}   plan {1000 * seconds:8.1f} ms")


def main() -> None:
    for topics in (10, 1000):
        print(f"{PARTITIONS} partitions with {BROKERS} replicas in {topics} topics")
        image = cluster(topics)
        image = measure("alter one partition", image, lambda image: shrink(image, 1))
        image = measure("fence a broker", image, lambda image: decide_fence_broker(image, 1))
        image = measure("unfence it", image, lambda image: decide_unfence_broker(image, 1, 1))
        image = measure("controlled shutdown", image, lambda image: decide_controlled_shutdown(image, 2))
        image = measure("restart a broker", image, restart)
        plans(image)


if __name__ == "__main__":
    main()
