"""The cluster that the tests in cluster/ run against: three of our brokers, or three of Apache Kafka's.

TIDELOG_INTEROP_CLUSTER=apache runs them against the latter: what they expect is what Apache Kafka does.
"""

import os
from pathlib import Path
from typing import Protocol

from tests.interop.apache_cluster import ApacheCluster
from tidelog.testing import Cluster

IS_APACHE = os.environ.get("TIDELOG_INTEROP_CLUSTER") == "apache"
RACKS = {1: "a", 2: "b", 3: "c"}
RACK_AWARE = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}


class ClusterUnderTest(Protocol):
    bootstrap: str

    def address(self, id: int) -> str: ...

    def kill(self, id: int) -> None:
        """As `kill -9`."""

    def stop_broker(self, id: int) -> None:
        """In order: what it leads is handed over first."""

    def start_broker(self, id: int) -> None: ...

    def start_missing(self) -> None:
        """Start whoever does not run."""

    def controller_address(self, id: int) -> str:
        """Where it talks as a voter on the metadata."""

    def log_dir(self, id: int) -> str: ...

    def stop(self) -> None: ...


class TidelogCluster:
    def __init__(self, directory: Path) -> None:
        settings = {
            "offsets.topic.num.partitions": 4,
            "group.initial.rebalance.delay.ms": 0,
            "group.min.session.timeout.ms": 1000,
            "group.share.min.heartbeat.interval.ms": 300,
            "group.share.heartbeat.interval.ms": 300,
            "share.coordinator.state.topic.num.partitions": 4,
            # All brokers share a process with the tests: none is dead for a moment without an answer.
            "broker.session.timeout.ms": 3000,
            # The tests say themselves when leaders move.
            "auto.leader.rebalance.enable": False,
            **RACK_AWARE,
        }
        self._cluster = Cluster(brokers=3, settings=settings, data_dir=directory, racks=RACKS)
        self._cluster.start()
        self.bootstrap = self._cluster.bootstrap_servers

    def address(self, id: int) -> str:
        return f"127.0.0.1:{self._cluster.brokers[id].fixed_port}"

    controller_address = address

    def log_dir(self, id: int) -> str:
        return self._cluster.brokers[id].data_dir

    def kill(self, id: int) -> None:
        self._cluster.kill(id)

    def stop_broker(self, id: int) -> None:
        self._cluster.stop_broker(id)

    def start_broker(self, id: int) -> None:
        self._cluster.brokers[id].start()

    def start_missing(self) -> None:
        for broker in self._cluster.brokers.values():
            if not broker.is_running:
                broker.start()

    def stop(self) -> None:
        for id in RACKS:
            self._cluster.kill(id)
        self._cluster.stop()


class KafkaCluster:
    def __init__(self, directory: Path) -> None:
        extra = {**RACK_AWARE, "auto.leader.rebalance.enable": "false"}
        self._cluster = ApacheCluster(directory, racks=list(RACKS.values()), extra_settings=extra)
        self.bootstrap = self._cluster.bootstrap

    def address(self, id: int) -> str:
        return self._cluster.nodes[id].address

    def controller_address(self, id: int) -> str:
        return f"localhost:{self._cluster.nodes[id].controller_port}"

    def log_dir(self, id: int) -> str:
        return str(self._cluster.nodes[id].data)

    def kill(self, id: int) -> None:
        self._cluster.nodes[id].kill()

    def stop_broker(self, id: int) -> None:
        self._cluster.nodes[id].stop()

    def start_broker(self, id: int) -> None:
        self._cluster.nodes[id].start()

    def start_missing(self) -> None:
        for node in self._cluster.nodes.values():
            if node.process is None or node.process.poll() is not None:
                node.start()

    def stop(self) -> None:
        for id in RACKS:
            self.kill(id)


def start_cluster(directory: Path) -> ClusterUnderTest:
    return KafkaCluster(directory) if IS_APACHE else TidelogCluster(directory)
