"""A cluster whose brokers are processes that can be killed, paused, cut off, filled up and started again."""

import contextlib
import shutil
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ClusterMetadata, NewTopic

from tests.chaos import jumping_clock
from tests.chaos.peer_links import HOST, PeerLinks, free_ports
from tests.chaos.small_disk import SmallDisk
from tests.chaos.victim import RUN_TIDELOG, Victim, wait_until
from tests.faults.raw_client import Closed, RawClient
from tests.rigs.repository import ROOT
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.metadata import MetadataRequest, MetadataResponse

PATIENCE_S = 120.0
"""Machines that run tests are busy at times."""

SOON_NOTICED: dict[str, object] = {
    "broker.heartbeat.interval.ms": 200,
    "broker.session.timeout.ms": 2000,
    # A busy machine delays messages by hundreds of milliseconds, and a leader must survive that.
    "controller.quorum.election.timeout.ms": 800,
    "controller.quorum.heartbeat.interval.ms": 100,
    "replica.lag.time.max.ms": 3000,
    "replica.fetch.backoff.ms": 200,
}

ALL_CLUSTERS: dict[str, object] = {
    "durability": "os",  # a killed process loses nothing that it gave to the kernel
    "default.replication.factor": 3,
    "min.insync.replicas": 2,
    "offsets.topic.num.partitions": 4,
    "auto.create.topics.enable": "false",
    "leader.imbalance.check.interval.seconds": 5,
    "log.segment.bytes": 2_097_152,
    "shutdown.grace.ms": 3000,
    "log.dirs.min.free.bytes": 0,
}


class Member(Victim):
    """One broker of a cluster. Clients reach it directly, other brokers through `PeerLinks`."""

    def __init__(
        self, directory: Path, node_id: int, ports: tuple[int, int], settings: Mapping[str, object]
    ) -> None:
        super().__init__(directory, settings)
        self.node_id = node_id
        self._port, self.peer_port = ports
        self.links_port = 0
        self.voters = ""
        self.sabotage = ""
        """Python that breaks the broker before it starts, to see whether the checks notice."""
        self.disk: SmallDisk | None = None
        self._clock_file = directory / "clock"

    @property
    def address(self) -> str:
        return f"{HOST}:{self._port}"

    @property
    def client_ports(self) -> dict[int, int]:
        """Of each of its brokers."""
        return {self.node_id: self._port}

    def replica_directory(self, partition: str) -> Path:
        """The log dir that has the replica, once the broker is down."""
        return self.data_seen_from_outside

    def give_small_disk(self, megabytes: int) -> SmallDisk:
        self.disk = SmallDisk(self.directory / "disk", megabytes)
        self.data = self.directory / "disk" / "data"
        return self.disk

    @property
    def data_seen_from_outside(self) -> Path:
        return self.data if self.disk is None else self.disk.path / "data"

    def lose_data(self) -> None:
        """As a disk that was replaced; the broker must be down."""
        assert not self.is_running
        shutil.rmtree(self.data_seen_from_outside)

    def set_clock(self, ahead_ms: int) -> None:
        jumping_clock.set_clock(self._clock_file, ahead_ms)

    def _all_settings(self) -> list[tuple[str, str]]:
        clients = f"PLAINTEXT://{HOST}:{self._port}"
        values = {
            "node.id": str(self.node_id),
            "listeners": f"{clients},PEERS://{HOST}:{self.peer_port}",
            "advertised.listeners": f"{clients},PEERS://{HOST}:{self.links_port}",
            "inter.broker.listener.name": "PEERS",
            **self._settings,
        }
        if self.voters:
            values["controller.quorum.voters"] = self.voters
        return list(values.items())

    def _wrapper(self) -> list[str]:
        return [] if self.disk is None else self.disk.wrapper

    def _program(self) -> str:
        self.set_clock(0)
        lines = [
            f"import sys; sys.path.append({str(ROOT)!r})",
            f"from tests.chaos import jumping_clock; jumping_clock.install({str(self._clock_file)!r})",
            "from tests.chaos import task_dump; task_dump.install()",
            self.sabotage,
            RUN_TIDELOG,
        ]
        return "\n".join(lines)


class ProcessCluster:
    """`settings` go before those above; None leaves a setting at the broker's own default."""

    def __init__(
        self, directory: Path, brokers: int = 3, settings: Mapping[str, object] | None = None
    ) -> None:
        self.links = PeerLinks()
        self._directory = directory
        ports = free_ports(2 * brokers)
        wanted = {**ALL_CLUSTERS, **SOON_NOTICED, **(settings or {})}
        self.settings = {name: value for name, value in wanted.items() if value is not None}
        self.topic = ""
        """The first that was created: the one that faults aim at."""
        self.members: dict[int, Member] = {}
        for node_id in range(1, brokers + 1):
            self._add(node_id, (ports[2 * node_id - 2], ports[2 * node_id - 1]))
        self.voters = ",".join(f"{m.node_id}@{HOST}:{m.links_port}" for m in self.members.values())
        for member in self.members.values():
            member.voters = self.voters

    def _add(self, node_id: int, ports: tuple[int, int]) -> Member:
        member = Member(self._directory / f"broker-{node_id}", node_id, ports, self.settings)
        member.links_port = self.links.add(node_id, member.peer_port)
        self.members[node_id] = member
        return member

    def add(self, node_id: int) -> Member:
        """One more broker, not started yet, with the voter list of the others."""
        first, second = free_ports(2)
        member = self._add(node_id, (first, second))
        member.voters = self.voters
        return member

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(member.address for member in self.members.values())

    def start(self) -> None:
        for member in self.members.values():
            member.launch()
        self.until_ready()

    def until_ready(self) -> None:
        for member in self.members.values():
            member.until_ready(PATIENCE_S)

    def launch_missing(self) -> None:
        for member in self.members.values():
            if not member.is_running:
                member.kill()  # one that ended by itself is forgotten first
                member.launch()

    def heal(self) -> None:
        """Nothing is broken any more, and everybody is on the way up."""
        self.links.mend()
        for member in self.members.values():
            member.resume()
            if member.disk is not None:
                member.disk.free()
        self.launch_missing()

    def end(self) -> None:
        for member in self.members.values():
            member.kill()
            if member.disk is not None:
                member.disk.remove()
        self.links.close()

    # What clients are told of it

    @cached_property
    def admin(self) -> AdminClient:
        return AdminClient(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "socket.timeout.ms": 5000,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 100,
                "log_level": 0,
            }
        )

    def create_topic(self, name: str, partitions: int, **settings: str) -> None:
        config = {key.replace("_", "."): value for key, value in settings.items()}
        replicas = min(3, len(self.members))
        topic = NewTopic(name, partitions, replicas, config=config)
        # librdkafka stays with the controller that it knows, so it must wait until that one is up again.
        made = self.admin.create_topics([topic], request_timeout=PATIENCE_S / 2)
        made[name].result(PATIENCE_S)
        self.topic = self.topic or name

    def seen(self) -> ClusterMetadata | None:
        """As any of the brokers tells it; None where none does."""
        with contextlib.suppress(KafkaException):
            return self.admin.list_topics(timeout=2)
        return None

    def leader(self, topic: str, index: int = 0) -> int:
        found: list[int] = []

        def is_led() -> bool:
            seen = self.seen()
            if seen is not None and topic in seen.topics:
                found[:] = [seen.topics[topic].partitions[index].leader]
            return bool(found) and found[0] in self._broker_ids()

        wait_until(is_led, f"{topic}-{index} has a leader", PATIENCE_S, pause_s=0.05)
        return found[0]

    def leaders_told_by(self, member: Member, topic: str) -> dict[int, int]:
        """The leader of each partition, as this one broker tells it; nothing where it does not answer."""
        [port] = member.client_ports.values()
        with contextlib.suppress(OSError, Closed), RawClient(port) as client:
            told = client.ask(ApiKey.METADATA, MetadataRequest(topics=None))
            [found] = [one for one in told.topics if one.name == topic]
            return {one.partition_index: one.leader_id for one in found.partitions}
        return {}

    def holder(self, broker: int) -> Member:
        return next(member for member in self.members.values() if broker in member.client_ports)

    def _broker_ids(self) -> set[int]:
        return {broker for member in self.members.values() for broker in member.client_ports}

    def until_whole(self) -> None:
        """All brokers are members, every replica of every partition is in sync, and every broker says so.

        A broker that gives up over a full disk may need a while for that: it is started again, as a service
        manager would do.
        """

        def is_whole() -> bool:
            if any(member.has_given_up for member in self.members.values()):
                self.launch_missing()
            return next(self.what_is_missing(), None) is None

        wait_until(
            is_whole,
            lambda: f"the cluster is whole: {'; '.join(self.what_is_missing())}\n{self.log_tails()}",
            PATIENCE_S,
            pause_s=0.05,
        )

    def what_is_missing(self) -> Iterator[str]:
        """Each broker is asked for itself: one that was cut off may still tell an old story."""
        ports = {id: port for member in self.members.values() for id, port in member.client_ports.items()}
        for broker, port in ports.items():
            try:
                with RawClient(port) as client:
                    told = client.ask(ApiKey.METADATA, MetadataRequest(topics=None))
            except (OSError, Closed):
                yield f"broker {broker} does not answer"
                continue
            for missing in _missing_in(told, ports):
                yield f"broker {broker} says: {missing}"

    def log_tails(self) -> str:
        return "\n".join(f"-- broker {m.node_id}:\n{m.log_text()[-1500:]}" for m in self.members.values())


def _missing_in(told: MetadataResponse, members: Iterable[int]) -> Iterator[str]:
    known = {broker.node_id for broker in told.brokers}
    if missing := set(members) - known:
        yield f"brokers {missing} are away"
    for topic in told.topics:
        for one in topic.partitions:
            if set(one.isr_nodes) != set(one.replica_nodes) or one.leader_id not in one.isr_nodes:
                yield (
                    f"{topic.name}-{one.partition_index} is led by {one.leader_id}, replicas "
                    f"{one.replica_nodes}, in sync {one.isr_nodes}"
                )
