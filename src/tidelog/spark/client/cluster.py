"""A cluster as a blocking client sees it: who leads what, and calls to the right broker with retries.

One `Cluster` belongs to one thread. It keeps a connection per broker and the leaders it learnt; whatever
fails makes it forget both, so that the next attempt asks anew. `Cluster.settings` can be pickled and makes
the same client on an executor.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.spark.client.attempts import Attempts, Limits
from tidelog.spark.client.connection import Connection
from tidelog.spark.client.security import PLAINTEXT, Security
from tidelog.spark.errors import Disconnected, NoBroker
from tidelog.wire.message import Message
from tidelog.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from tidelog.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)

GROUP, TRANSACTION = 0, 1
NO_ID = bytes(16)


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True)
class ClusterSettings:
    servers: tuple[str, ...]
    security: Security = PLAINTEXT
    limits: Limits = field(default_factory=Limits)
    client_id: str = "tidelog-spark"

    def connect(self) -> "Cluster":
        return Cluster(self)


@dataclass(frozen=True)
class Topic:
    name: str
    id: bytes = NO_ID
    """16 bytes, zero where the broker has none to give: another id means another topic of that name."""
    leaders: dict[int, int] = field(default_factory=dict)
    """The leader's node id by partition; -1 while there is none."""
    is_internal: bool = False


def error_of(answer: Any) -> int:
    """The code of a whole answer; those of its partitions are the caller's to look at."""
    return int(getattr(answer, "error_code", 0))


class Cluster:
    def __init__(self, settings: ClusterSettings) -> None:
        self.settings = settings
        self._seeds = [_address(server) for server in settings.servers]
        self._addresses: dict[int, tuple[str, int]] = {}
        self._connections: dict[tuple[str, int], Connection] = {}
        self._topics: dict[str, Topic] = {}
        self._coordinators: dict[tuple[int, str], int] = {}

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    # Topics and leaders

    def topics(self, names: Iterable[str] | None = None) -> dict[str, Topic]:
        """Asks a broker. Those that do not exist are left out; None asks for all there are."""
        wanted = None if names is None else sorted(set(names))
        return self.attempts("metadata").run(lambda: self._asked(wanted))

    def topic(self, name: str) -> Topic:
        """As it was last heard of; asks when it was not."""
        found = self._topics.get(name) or self.topics([name]).get(name)
        if found is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name}")
        return found

    def leader(self, partition: TopicPartition) -> int:
        """The leader's node id. Raises a retriable KafkaError while there is none."""
        leader = self.topic(partition.topic).leaders.get(partition.partition)
        if leader is None:
            self._topics.pop(partition.topic, None)
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {partition}")
        if leader < 0:
            self._topics.pop(partition.topic, None)
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"{partition} has no leader")
        return leader

    def forget(self, *topics: str) -> None:
        """The next question for these topics goes to a broker; without names, for all."""
        for name in topics or tuple(self._topics):
            self._topics.pop(name, None)

    # Calls

    def attempts(self, what: str, limits: Limits | None = None) -> Attempts:
        return Attempts(what, limits or self.settings.limits, between=self._after_failure)

    def call_any(
        self, message: Message, *, failed: Callable[[Any], int] = error_of, timeout_s: float | None = None
    ) -> Any:
        """Of any broker that answers, with retries."""
        return self.attempts(type(message).__name__).run(
            lambda: _checked(self._any().call(message, timeout_s=timeout_s), failed)
        )

    def call_node(
        self, node: int, message: Message, *, timeout_s: float | None = None, at_most: int | None = None
    ) -> Any:
        """One try at one broker: for callers that sort out partitions and retry themselves."""
        return self.connection(node).call(message, timeout_s=timeout_s, at_most=at_most)

    def call_leader(
        self,
        partition: TopicPartition,
        message: Message,
        *,
        failed: Callable[[Any], int] = error_of,
        timeout_s: float | None = None,
        at_most: int | None = None,
    ) -> Any:
        """Of the leader, wherever it moves. `failed` finds the code in the answer: a retriable one is retried
        after asking for the leader anew, another raises KafkaError."""

        def ask() -> Any:
            node = self.leader(partition)
            return _checked(self.call_node(node, message, timeout_s=timeout_s, at_most=at_most), failed)

        return self.attempts(f"{type(message).__name__} for {partition}").run(ask)

    def call_coordinator(
        self,
        kind: int,
        key: str,
        message: Message,
        *,
        failed: Callable[[Any], int] = error_of,
        timeout_s: float | None = None,
        at_most: int | None = None,
    ) -> Any:
        """Of the coordinator of a group (`GROUP`) or of a transactional id (`TRANSACTION`)."""

        def ask() -> Any:
            node = self.coordinator(kind, key)
            return _checked(self.call_node(node, message, timeout_s=timeout_s, at_most=at_most), failed)

        return self.attempts(f"{type(message).__name__} for {key}").run(ask)

    def coordinator(self, kind: int, key: str) -> int:
        node = self._coordinators.get((kind, key))
        if node is None:
            question = FindCoordinatorRequest(key=key, key_type=kind, coordinator_keys=[key])
            answer: FindCoordinatorResponse = self._any().call(question)
            found = answer.coordinators[0] if answer.coordinators else answer
            if found.error_code:
                raise KafkaError(ErrorCode.of(found.error_code), found.error_message)
            node = self._coordinators[kind, key] = found.node_id
            self._addresses[node] = (found.host, found.port)
        return node

    def connection(self, node: int) -> Connection:
        address = self._addresses.get(node)
        if address is None:
            self._asked([])
            address = self._addresses.get(node)
        if address is None:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"broker {node} is not in the cluster now")
        return self._connected(address)

    def nodes(self) -> list[int]:
        """Asks a broker which brokers there are; one try."""
        self._asked([])
        return list(self._addresses)

    def feature(self, name: str) -> int:
        """The level at which the cluster has switched a feature on; 0 where it has not."""
        return self.attempts("features").run(lambda: self._any().features.get(name, 0))

    def own_connection(self, node: int) -> Connection:
        """A new connection that the caller closes: for long fetches that nobody else should wait behind."""
        self.connection(node)
        return self._open(self._addresses[node])

    def _asked(self, names: Sequence[str] | None) -> dict[str, Topic]:
        wanted = None if names is None else [MetadataRequestTopic(name=name) for name in names]
        question = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
        answer: MetadataResponse = _checked(self._any().call(question), error_of)
        self._addresses = {broker.node_id: (broker.host, broker.port) for broker in answer.brokers}
        found = {}
        for each in answer.topics:
            topic = _topic(each)
            if topic is not None:
                found[topic.name] = topic
        for name in names or ():
            self._topics.pop(name, None)
        self._topics.update(found)
        return found

    def _any(self) -> Connection:
        """An open connection, else the first broker that can be reached."""
        for connection in self._connections.values():
            if not connection.is_stale:
                return connection
        known = list(dict.fromkeys([*self._addresses.values(), *self._seeds]))
        reasons = []
        for address in known:
            try:
                return self._connected(address)
            except Disconnected as error:
                reasons.append(str(error))
        raise NoBroker("; ".join(reasons))

    def _connected(self, address: tuple[str, int]) -> Connection:
        found = self._connections.get(address)
        if found is None or found.is_stale:
            if found is not None:
                found.close()
            found = self._connections[address] = self._open(address)
        return found

    def _open(self, address: tuple[str, int]) -> Connection:
        settings = self.settings
        return Connection(
            *address,
            security=settings.security,
            client_id=settings.client_id,
            connect_timeout_s=settings.limits.connect_s,
            timeout_s=settings.limits.request_s,
        )

    def _after_failure(self, _: Exception) -> None:
        self._topics.clear()
        self._coordinators.clear()
        for address, connection in list(self._connections.items()):
            if connection.is_closed:
                del self._connections[address]


def _checked(answer: Any, failed: Callable[[Any], int]) -> Any:
    code = failed(answer)
    if code:
        raise KafkaError(ErrorCode.of(code), getattr(answer, "error_message", None))
    return answer


def _topic(each: MetadataResponseTopic) -> Topic | None:
    gone = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
    if each.error_code in gone or each.name is None:
        return None
    if each.error_code and each.error_code != ErrorCode.LEADER_NOT_AVAILABLE:
        raise KafkaError(ErrorCode.of(each.error_code), f"topic {each.name}")
    leaders = {part.partition_index: part.leader_id for part in each.partitions}
    return Topic(each.name, each.topic_id, dict(sorted(leaders.items())), each.is_internal)


def _address(server: str) -> tuple[str, int]:
    """`host:port`, `[::1]:port`, or with a listener's name in front as Kafka's tools allow."""
    host, _, port = server.rpartition("://")[2].rpartition(":")
    return host.strip("[]"), int(port)
