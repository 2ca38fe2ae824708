"""A dead-letter topic on its brokers: a redriver for each partition, and the ports that it needs."""

import time
from collections.abc import Iterator

from tidelog.blocking.cluster import Cluster, Topic
from tidelog.blocking.partition_log import PartitionLog
from tidelog.blocking.transactions import TransactionCalls
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.configs import Kind, read_settings
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.queue.dead_letters.redriver import Ports, Redriver
from tidelog.cli.queue.dead_letters.targets import Targets

MAX_BYTES = "max.message.bytes"
BYTES_MAX = 1_048_588
"""Kafka's default, where the topic does not show its own."""


class Shelf:
    def __init__(self, cluster: Cluster, direct: DirectCluster, name: str, *, may_be_absent: bool) -> None:
        """NOT_FOUND where there is no such topic. A group's topic may be created with its first letter."""
        self.cluster, self._direct = cluster, direct
        self.topic = self._find_topic(name) if may_be_absent else self._existing(name)
        self._name = name
        calls = TransactionCalls(cluster)
        self._ports = Ports(self._open_log, calls.producer_id, lambda: time.time_ns() // 1_000_000)

    def redrivers(self) -> Iterator[Redriver]:
        """Caught up with the claims in each partition."""
        if self.topic is None:
            return
        for partition in self.topic.leaders:
            redriver = Redriver(PartitionLog(self.cluster, self.topic, partition), self._ports)
            redriver.catch_up()
            yield redriver

    def targets(self, to: str | None) -> Targets:
        if to is not None:
            self._existing(to)
        return Targets(self._find_topic, self._find_bytes_max, dead_letter_topic=self._name, to=to)

    def _existing(self, name: str) -> Topic:
        topic = self._find_topic(name)
        if topic is None:
            raise CliError(
                f"There is no topic '{name}' at {self._direct.session.servers}.",
                cause="it was never created, or was deleted.",
                attempt="tidelog topic list",
                code=Exit.NOT_FOUND,
            )
        return topic

    def _find_topic(self, name: str) -> Topic | None:
        return self.cluster.topics([name]).get(name)

    def _find_bytes_max(self, name: str) -> int:
        found = read_settings(self._direct, Kind.TOPIC, [name], [MAX_BYTES])
        return int(found.get(name, {}).get(MAX_BYTES, BYTES_MAX))

    def _open_log(self, topic: str, partition: int) -> PartitionLog | None:
        found = self._find_topic(topic)
        return (
            None
            if found is None or partition not in found.leaders
            else PartitionLog(self.cluster, found, partition)
        )
