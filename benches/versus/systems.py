"""The sides of a comparison: each starts brokers, says where they listen and what they have used so far."""

import shutil
import tempfile
import time
from abc import ABC, abstractmethod
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from benches.rig.broker_process import BrokerProcess, work_folder
from benches.rig.cluster_process import RunningCluster, running_cluster
from benches.rig.frames import api_versions_frame
from benches.rig.load import answer_size
from benches.versus.processes import cpu_seconds, resident_bytes

# What kafka-server-start.sh and kafka-run-class.sh of the release give the JVM.
KAFKA_JVM = [
    "-Xmx1G",
    "-Xms1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
]
FSYNC_OF_KAFKA = {"log.flush.interval.messages": "1"}
"""Kafka then syncs before it acknowledges, as `durability=fsync` does."""

DEFAULTS = {"Tidelog": "fsync", "Apache Kafka": "os"}
"""What `durability` means where it is `defaults`: each system as it comes."""

LOCKS_OF_KAFKA = {"group.share.max.partition.max.record.locks": "10000"}
"""Share groups may then be given as many as benches of queues use; what they get stays the default."""


class System(ABC):
    """`with` starts it. `durability` is `os` (the page cache), `fsync`, or `defaults`: the system's own."""

    name: str

    def __init__(self, durability: str = "os", brokers: int = 1, compiled: bool = False) -> None:
        self.durability = DEFAULTS.get(self.name, "os") if durability == "defaults" else durability
        self.brokers = brokers
        self.compiled = compiled
        self._running = ExitStack()
        self._topics = 0

    @property
    @abstractmethod
    def servers(self) -> str: ...

    @property
    @abstractmethod
    def pids(self) -> list[int]: ...

    @property
    @abstractmethod
    def log_dirs(self) -> list[Path]: ...

    @abstractmethod
    def start(self) -> None: ...

    def __enter__(self) -> "System":
        try:
            self.start()
        except BaseException:
            self._running.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.servers.split(",")[0].rpartition(":")
        return host, int(port)

    def restart(self, *, cleanly: bool) -> float:
        """Seconds from the start of the process to its first answer; of a single broker."""
        self.__dict__.pop("_admin", None)
        self.stop_process(cleanly)
        began = time.perf_counter()
        self.start_process()
        while True:
            try:
                self.answer()
                return time.perf_counter() - began
            except OSError:
                time.sleep(0.005)

    def answer(self) -> None:
        """Returns when it has answered, and raises OSError where it does not do so yet."""
        answer_size(self.address, api_versions_frame())

    @abstractmethod
    def stop_process(self, cleanly: bool) -> None: ...

    @abstractmethod
    def start_process(self) -> None: ...

    def cpu_seconds(self) -> float:
        return cpu_seconds(self.pids)

    def resident_bytes(self) -> int:
        return resident_bytes(self.pids)

    def new_topic(self, partitions: int = 1, replicas: int | None = None) -> str:
        """With as many replicas as there are brokers, unless told otherwise."""
        self._topics += 1
        name = f"bench-{self._topics}"
        topic = NewTopic(name, partitions, replicas or self.brokers)
        self._admin.create_topics([topic], operation_timeout=60)[name].result()
        time.sleep(0.3)  # until every broker knows, on either side
        return name

    def delete_topic(self, name: str) -> None:
        self._admin.delete_topics([name])[name].result()

    @cached_property
    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.servers})

    def _folder(self) -> Path:
        folder = tempfile.mkdtemp(prefix=f"bench-{self.name.split()[0].lower()}-", dir=work_folder())
        self._running.callback(shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)


class Tidelog(System):
    name = "Tidelog"

    def start(self) -> None:
        settings = {"durability": self.durability, "produce.compiled": "on" if self.compiled else "off"}
        self._cluster: RunningCluster | None = None
        self._broker: BrokerProcess | None = None
        if self.brokers > 1:
            self._cluster = self._running.enter_context(running_cluster(settings))
        else:
            self._broker = self._running.enter_context(BrokerProcess(settings))

    @property
    def servers(self) -> str:
        if self._cluster is not None:
            return self._cluster.servers
        return f"localhost:{self._one().port}"

    @property
    def pids(self) -> list[int]:
        return self._cluster.pids if self._cluster is not None else [self._one().process.pid]

    @property
    def log_dirs(self) -> list[Path]:
        return [Path(self._cluster.folder if self._cluster is not None else self._one().data)]

    def stop_process(self, cleanly: bool) -> None:
        if cleanly:
            self._one().stop()
        else:
            self._one().kill()

    def start_process(self) -> None:
        self._one().start()

    def _one(self) -> BrokerProcess:
        if self._broker is None:
            raise RuntimeError("not started")
        return self._broker


class ApacheKafka(System):
    name = "Apache Kafka"

    def start(self) -> None:
        from tests.interop.apache_cluster import ApacheCluster
        from tests.interop.apache_kafka import ApacheKafka as OneBroker
        from tests.interop.broker_process import free_port

        folder = self._folder()
        self._data = folder
        extra = LOCKS_OF_KAFKA | (FSYNC_OF_KAFKA if self.durability == "fsync" else {})
        if self.brokers > 1:
            cluster = ApacheCluster(folder, self.brokers, extra_settings=extra, jvm=KAFKA_JVM)
            self._running.callback(cluster.stop)
            self._servers = cluster.bootstrap
            self._pids = [node.process.pid for node in cluster.nodes.values()]
        else:
            self._broker = OneBroker(free_port(), folder, extra_settings=extra, jvm=KAFKA_JVM)
            self._running.callback(self._broker.stop)
            self._servers, self._pids = self._broker.bootstrap, [self._broker.process.pid]

    @property
    def servers(self) -> str:
        return str(self._servers)

    @property
    def pids(self) -> list[int]:
        return list(self._pids)

    @property
    def log_dirs(self) -> list[Path]:
        return [self._data]

    def stop_process(self, cleanly: bool) -> None:
        if cleanly:
            self._broker.stop()
        else:
            self._broker.process.kill()
            self._broker.process.wait()

    def start_process(self) -> None:
        self._broker.start()
        self._pids = [self._broker.process.pid]
