"""A response that is too long leaves out what a client may tolerate, and never what forbids the stop."""

import asyncio
from types import SimpleNamespace
from typing import Any

from tidelog.base.config.config import BrokerConfig
from tidelog.broker.handlers.cluster.can_stop_broker import OBSTACLES_MAX, handle
from tidelog.metadata.image.entities import BrokerImage, PartitionImage, TopicImage
from tidelog.metadata.image.image import ClusterImage
from tidelog.raft.status import QuorumStatus
from tidelog.wire.messages.can_stop_broker import CanStopBrokerRequest


def topic(name: str, partitions: list[PartitionImage]) -> TopicImage:
    return TopicImage(name, name.encode().ljust(16), tuple(partitions))


def test_what_waiting_would_change_comes_first() -> None:
    alone = topic("alone", [PartitionImage(index, (1,), (1,), 1) for index in range(OBSTACLES_MAX)])
    behind = topic("behind", [PartitionImage(0, (1, 2), (1,), 1)])
    image = ClusterImage(
        brokers={id: BrokerImage(id, 0, bytes(16), {}) for id in (1, 2)},
        topics={one.name: one for one in (alone, behind)},
        topics_by_id={one.id: one for one in (alone, behind)},
    )
    raft = SimpleNamespace(status=lambda: QuorumStatus(2, 1, 0, (), ()))
    services = SimpleNamespace(
        metadata=SimpleNamespace(
            image=image, config=BrokerConfig(), node_id=2, quorum=SimpleNamespace(raft=raft)
        ),
        controller=SimpleNamespace(check_active=lambda: None),
        clock=SimpleNamespace(monotonic=lambda: 0.0),
        config=BrokerConfig(),
    )
    context: Any = SimpleNamespace(services=services, allows_on_cluster=lambda operation: True)
    answer = asyncio.run(handle(context, CanStopBrokerRequest(broker_id=1)))
    assert answer.obstacles_total == OBSTACLES_MAX + 1 > len(answer.obstacles)
    first = answer.obstacles[0]
    assert (first.topic, first.unavoidable) == ("behind", False)
