"""Runs a cluster of Apache Kafka brokers, each of them a KRaft controller too: the yardstick for clusters.

python -m tests.interop.apache_cluster --brokers 3
"""

import argparse
import itertools
import signal
import subprocess
import tempfile
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType

from tests.interop.broker_process import free_port
from tests.interop.kafka_jars import JVM, QUIET, classpath

SETTINGS = """\
process.roles=broker,controller
node.id={node}
controller.quorum.bootstrap.servers={controllers}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://localhost:{port},CONTROLLER://localhost:{controller_port}
advertised.listeners=PLAINTEXT://localhost:{port},CONTROLLER://localhost:{controller_port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={data}
broker.rack={rack}
default.replication.factor={replicas}
min.insync.replicas={in_sync}
offsets.topic.replication.factor={replicas}
offsets.topic.num.partitions=4
transaction.state.log.replication.factor={replicas}
transaction.state.log.min.isr={in_sync}
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor={replicas}
share.coordinator.state.topic.min.isr={in_sync}
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
group.share.min.heartbeat.interval.ms=300
group.share.heartbeat.interval.ms=300
group.share.min.session.timeout.ms=1000
group.share.min.record.lock.duration.ms=1000
group.share.assignment.interval.ms=0
share.coordinator.state.topic.num.partitions=4
controller.quorum.election.timeout.ms=500
controller.quorum.fetch.timeout.ms=1000
broker.heartbeat.interval.ms=500
broker.session.timeout.ms=3000
"""
START_PATIENCE_S = 90.0
ANSWER_PATIENCE_S = 5.0
SMALL_JVM = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class ApacheNode:
    """One broker of the cluster; its data and server.log lie under `directory`."""

    def __init__(self, node: int, directory: Path, jvm: Sequence[str] = SMALL_JVM) -> None:
        self.node = node
        self._jvm = jvm
        self.directory = directory
        self.port, self.controller_port = free_port(), free_port()
        self.address = f"localhost:{self.port}"
        self.data = directory / "data"
        self.log_file = directory / "server.log"
        self.settings = directory / "server.properties"
        # Ids that begin with a dash would be taken for options.
        self.directory_id = "A" + urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]
        self.process: subprocess.Popen[bytes] | None = None

    def format(self, cluster_id: str, text: str, voters: str | None) -> None:
        """Voters that are named now may change later; without them this one begins as an observer."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self.settings.write_text(text)
        command = [*JVM, *QUIET, "-cp", classpath(), "kafka.tools.StorageTool", "format"]
        command += ["-t", cluster_id, "-c", str(self.settings)]
        command += ["--no-initial-controllers"] if voters is None else ["--initial-controllers", voters]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"node {self.node} was not formatted: {done.stdout}{done.stderr}")

    def start(self) -> None:
        command = ["java", *self._jvm, *QUIET]
        command += ["-cp", classpath(), "kafka.Kafka", str(self.settings)]
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()


class ApacheCluster:
    """`brokers` voters and `observers` more that follow the metadata without a vote; ids count from 1."""

    def __init__(
        self,
        directory: Path,
        brokers: int = 3,
        observers: int = 0,
        *,
        racks: Sequence[str] = ("a", "b", "c"),
        extra_settings: dict[str, str] | None = None,
        jvm: Sequence[str] = SMALL_JVM,
    ) -> None:
        ids = range(1, brokers + observers + 1)
        self.nodes = {node: ApacheNode(node, directory / f"node-{node}", jvm) for node in ids}
        self.cluster_id = "A" + urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]
        voters = [self.nodes[node] for node in ids[:brokers]]
        controllers = ",".join(f"localhost:{voter.controller_port}" for voter in voters)
        initial = ",".join(
            f"{voter.node}@localhost:{voter.controller_port}:{voter.directory_id}" for voter in voters
        )
        with ThreadPoolExecutor() as threads:
            jobs = []
            for node, rack in zip(self.nodes.values(), itertools.cycle(racks), strict=False):
                text = SETTINGS.format(
                    node=node.node,
                    controllers=controllers,
                    port=node.port,
                    controller_port=node.controller_port,
                    data=node.data,
                    rack=rack,
                    replicas=min(3, brokers),
                    in_sync=min(2, brokers),
                )
                text += "".join(f"{name}={value}\n" for name, value in (extra_settings or {}).items())
                votes = initial if node in voters else None
                jobs.append(threads.submit(node.format, self.cluster_id, text, votes))
            for job in jobs:
                job.result()
        for node in self.nodes.values():
            node.start()
        self.wait_until_all_answer()

    @property
    def bootstrap(self) -> str:
        return ",".join(node.address for node in self.nodes.values())

    def wait_until_all_answer(self) -> None:
        """Until every broker is registered and none is fenced."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        deadline = time.monotonic() + START_PATIENCE_S
        while time.monotonic() < deadline:
            try:
                if admin.list_topics(timeout=ANSWER_PATIENCE_S).brokers.keys() >= self.nodes.keys():
                    return
            except KafkaException:
                pass  # still starting
            if any(node.process is None or node.process.poll() is not None for node in self.nodes.values()):
                break
            time.sleep(0.1)
        logs = "\n".join(f"== {node.node}\n{node.log_file.read_text()}" for node in self.nodes.values())
        self.stop()
        raise RuntimeError(f"the Apache Kafka cluster did not start:\n{logs}")

    def stop(self) -> None:
        with ThreadPoolExecutor() as threads:
            list(threads.map(ApacheNode.stop, self.nodes.values()))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--brokers", type=int, default=3, help="brokers that vote on the metadata")
    parser.add_argument("--observers", type=int, default=0, help="brokers that do not")
    arguments = parser.parse_args()

    def stop(signum: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    with tempfile.TemporaryDirectory(prefix="apache-cluster-") as directory:
        began = time.monotonic()
        cluster = ApacheCluster(Path(directory), arguments.brokers, arguments.observers)
        print(f"bootstrap {cluster.bootstrap}\ndirectory {directory}", flush=True)
        print(f"ready after {time.monotonic() - began:.1f} s", flush=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            cluster.stop()


if __name__ == "__main__":
    main()
