"""Runs Apache Kafka itself, one KRaft node, from Maven's jars: the yardstick for the interop tests.

python -m tests.interop.apache_kafka --port 9092
TIDELOG_INTEROP_BOOTSTRAP=localhost:9092 TIDELOG_INTEROP_DATA=<the directory it prints> pytest tests/interop
"""

import argparse
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from tests.interop.broker_process import free_port
from tests.interop.kafka_jars import JVM, QUIET, classpath

SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:{controller_port}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://localhost:{port},CONTROLLER://localhost:{controller_port}
advertised.listeners=PLAINTEXT://localhost:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={data}
num.partitions=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
group.consumer.min.heartbeat.interval.ms=300
group.consumer.heartbeat.interval.ms=300
group.consumer.assignment.interval.ms=0
group.streams.min.heartbeat.interval.ms=300
group.streams.heartbeat.interval.ms=300
group.streams.min.session.timeout.ms=1000
group.streams.initial.rebalance.delay.ms=0
group.share.min.heartbeat.interval.ms=300
group.share.heartbeat.interval.ms=300
group.share.min.session.timeout.ms=1000
group.share.min.record.lock.duration.ms=1000
group.share.assignment.interval.ms=0
share.coordinator.state.topic.num.partitions=4
"""


class ApacheKafka:
    """One broker in its own process, with its data and server.log under `directory`."""

    def __init__(
        self,
        port: int,
        directory: Path,
        extra_settings: dict[str, str] | None = None,
        jvm: Sequence[str] = ("-Xms512m", "-Xmx512m"),
    ) -> None:
        self.bootstrap = f"localhost:{port}"
        self.data = directory / "data"
        self.log_file = directory / "server.log"
        settings = directory / "server.properties"
        text = SETTINGS.format(port=port, controller_port=free_port(), data=self.data)
        text += "".join(f"{name}={value}\n" for name, value in (extra_settings or {}).items())
        settings.write_text(text)
        java = [*JVM, *QUIET, "-cp", classpath()]
        # The tool takes an id that begins with "-" for an option.
        cluster = "A" + urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]
        subprocess.run(
            [*java, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(settings)],
            check=True,
            capture_output=True,
        )
        # The benches compare against this process, so it gets every compiler tier.
        self._server = ["java", *jvm, *QUIET, "-cp", classpath(), "kafka.Kafka", str(settings)]
        self._port = port
        self.start()

    def start(self) -> None:
        """At first, and again after a stop."""
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(self._server, stdout=log, stderr=subprocess.STDOUT)
        self._wait_until_it_listens(self._port)

    def _wait_until_it_listens(self, port: int) -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                socket.create_connection(("localhost", port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.1)
        self.stop()
        raise RuntimeError(f"Apache Kafka did not start:\n{self.log_file.read_text()}")

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=9092)
    parser.add_argument(
        "--directory", type=Path, help="where data and logs go; a temporary directory unless given"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="one more server setting"
    )
    arguments = parser.parse_args()

    def stop(signum: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    with tempfile.TemporaryDirectory(prefix="apache-kafka-") as temporary:
        directory = arguments.directory or Path(temporary)
        directory.mkdir(parents=True, exist_ok=True)
        kafka = ApacheKafka(arguments.port, directory, dict(pair.split("=", 1) for pair in arguments.set))
        print(f"bootstrap {kafka.bootstrap}\ndata {kafka.data}\nlog {kafka.log_file}", flush=True)
        try:
            kafka.process.wait()
        except KeyboardInterrupt:
            kafka.stop()


if __name__ == "__main__":
    main()
