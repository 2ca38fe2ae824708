"""The cluster as this broker sees it: what it is, whether it is ready, and what the controller counts."""

import platform
from collections.abc import Iterator

from tidelog import __version__
from tidelog.base.ids import NodeId
from tidelog.broker.requests.context import Services
from tidelog.metadata.image.entities import NO_LEADER, BrokerImage, TopicImage
from tidelog.metadata.image.image import ClusterImage
from tidelog.metrics.families import cluster as families
from tidelog.metrics.page import Page

TOPICS_A_TURN = 64
PARTITIONS_A_TURN = 2_000


class ClusterCollector:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._counted: ClusterImage | None = None
        self._counts = (0, 0, 0)

    def collect(self, page: Page) -> Iterator[None]:
        services, metadata = self._services, self._services.metadata
        image = metadata.image
        rack = services.config.optional_text("broker.rack") or ""
        python = platform.python_version()
        page.add(families.INFO, 1, __version__, python, image.cluster_id, metadata.node_id, rack)
        if not metadata.has_quorum:
            return
        page.add(families.ACTIVE_CONTROLLER, metadata.is_controller)
        page.add(families.METADATA_ERRORS, metadata.errors + (metadata.failure is not None))
        for feature, level in image.features.items():
            page.add(families.FEATURE_LEVEL, level, feature)
        yield
        if metadata.is_controller:
            yield from self._as_controller(page, image)

    def _as_controller(self, page: Page, image: ClusterImage) -> Iterator[None]:
        states = dict.fromkeys(("active", "fenced", "stopping"), 0)
        for broker in image.brokers.values():
            states[_state(broker)] += 1
        for state, count in states.items():
            page.add(families.BROKERS, count, state)
        if self._counted is not image:  # which many scrapes share
            yield from self._count(image)
        partitions, offline, imbalanced = self._counts
        page.add(families.TOPICS, len(image.topics))
        page.add(families.PARTITIONS, partitions)
        page.add(families.OFFLINE_PARTITIONS, offline)
        page.add(families.IMBALANCED_PARTITIONS, imbalanced)

    def _count(self, image: ClusterImage) -> Iterator[None]:
        partitions = offline = imbalanced = looked_at = 0
        for number, topic in enumerate(image.topics.values()):
            partitions += len(topic.partitions)
            for part in range(0, len(topic.partitions), PARTITIONS_A_TURN):
                led = _leaders(topic, part)
                offline += sum(leader == NO_LEADER for leader, _ in led)
                imbalanced += sum(leader not in (NO_LEADER, preferred) for leader, preferred in led)
                looked_at += len(led)
                if looked_at >= PARTITIONS_A_TURN or number % TOPICS_A_TURN == 0:
                    looked_at = 0
                    yield
        self._counted, self._counts = image, (partitions, offline, imbalanced)


def _leaders(topic: TopicImage, first: int) -> list[tuple[NodeId, NodeId]]:
    return [(one.leader, one.replicas[0]) for one in topic.partitions[first : first + PARTITIONS_A_TURN]]


def _state(broker: BrokerImage) -> str:
    if broker.fenced:
        return "fenced"
    return "stopping" if broker.shutting_down else "active"
