"""A cluster as a blocking client sees it: calls reach the leader or coordinator in charge, with retries.

A `Cluster` belongs to one thread. It keeps the leaders and coordinators that it learned, and forgets them
after each failure, so that the next attempt asks again.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.blocking.addresses import Address
from tidelog.blocking.attempts import Attempts, Limits
from tidelog.blocking.brokers import Brokers
from tidelog.blocking.connection import Connection
from tidelog.blocking.settings import ClusterSettings
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
class Topic:
    name: str
    id: bytes = NO_ID
    """16 bytes, zero where the broker has none: another id means another topic of that name."""
    leaders: dict[int, int] = field(default_factory=dict)
    """The leader's node id by partition; -1 while there is none."""
    is_internal: bool = False


def error_of(answer: Any) -> int:
    """Returns the code of the whole answer; the caller checks those of its partitions."""
    return int(getattr(answer, "error_code", 0))


class Cluster:
    def __init__(self, settings: ClusterSettings) -> None:
        self.settings = settings
        self._brokers = Brokers(settings)
        self._addresses: dict[int, Address] = {}
        self._topics: dict[str, Topic] = {}
        self._coordinators: dict[tuple[int, str], int] = {}

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._brokers.close()

    # Topics and leaders

    def topics(self, names: Iterable[str] | None = None) -> dict[str, Topic]:
        """Asks a broker. Leaves out topics that do not exist; None asks for all topics."""
        wanted = None if names is None else sorted(set(names))
        attempts = self.attempts("metadata")
        return attempts.run(lambda: self._update(wanted, attempts.left_s))

    def topic(self, name: str) -> Topic:
        """Returns the topic as the last answer described it; asks a broker where none did."""
        topic = self._topics.get(name) or self.topics([name]).get(name)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name}")
        return topic

    def leader(self, partition: TopicPartition) -> int:
        """Returns the leader's node id. Raises a retriable KafkaError while there is none."""
        leader = self.topic(partition.topic).leaders.get(partition.partition)
        if leader is None:
            self._topics.pop(partition.topic, None)
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {partition}")
        if leader < 0:
            self._topics.pop(partition.topic, None)
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"{partition} has no leader")
        return leader

    def forget(self, *topics: str) -> None:
        """Drops what is cached about these topics, or about all: the next lookup asks a broker."""
        for name in topics or tuple(self._topics):
            self._topics.pop(name, None)

    # Calls

    def attempts(self, what: str, limits: Limits | None = None) -> Attempts:
        return Attempts(what, limits or self.settings.limits, between=self._after_failure)

    def call_any(
        self, message: Message, *, failed: Callable[[Any], int] = error_of, timeout_s: float | None = None
    ) -> Any:
        """Calls any broker that answers, with retries."""
        attempts = self.attempts(type(message).__name__)
        return attempts.run(
            lambda: _checked(
                self._brokers.call_any(message, timeout_s=timeout_s, total_s=attempts.left_s), failed
            )
        )

    def call_node(
        self, node: int, message: Message, *, timeout_s: float | None = None, at_most: int | None = None
    ) -> Any:
        """Calls one broker once: for callers that handle each partition's error and retry themselves."""
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
        """Calls the leader, wherever it moves. `failed` returns the code in the answer: after a retriable
        one the leader is looked up again, any other raises KafkaError."""

        def attempt() -> Any:
            node = self.leader(partition)
            return _checked(self.call_node(node, message, timeout_s=timeout_s, at_most=at_most), failed)

        return self.attempts(f"{type(message).__name__} for {partition}").run(attempt)

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
        """Calls the coordinator of a group (`GROUP`) or of a transactional id (`TRANSACTION`)."""

        def attempt() -> Any:
            node = self.coordinator(kind, key)
            return _checked(self.call_node(node, message, timeout_s=timeout_s, at_most=at_most), failed)

        return self.attempts(f"{type(message).__name__} for {key}").run(attempt)

    def coordinator(self, kind: int, key: str) -> int:
        node = self._coordinators.get((kind, key))
        if node is None:
            request = FindCoordinatorRequest(key=key, key_type=kind, coordinator_keys=[key])
            answer: FindCoordinatorResponse = self._brokers.call_any(
                request, total_s=self.settings.limits.total_s
            )
            coordinator = answer.coordinators[0] if answer.coordinators else answer
            if coordinator.error_code:
                raise KafkaError(ErrorCode.of(coordinator.error_code), coordinator.error_message)
            node = self._coordinators[kind, key] = coordinator.node_id
            self._addresses[node] = (coordinator.host, coordinator.port)
        return node

    def forget_coordinator(self, kind: int, key: str) -> None:
        """The next lookup asks a broker."""
        self._coordinators.pop((kind, key), None)

    @property
    def addresses(self) -> dict[int, Address]:
        """The brokers by node id, as the last answer listed them."""
        return dict(self._addresses)

    def connection(self, node: int) -> Connection:
        return self._brokers.at(self._address(node))

    def own_connection(self, node: int) -> Connection:
        """A new connection that the caller closes: for long fetches, which would hold up other calls."""
        return self._brokers.open(self._address(node))

    def nodes(self) -> list[int]:
        """Asks a broker, once, for the ids of all brokers."""
        self._update([])
        return list(self._addresses)

    def feature(self, name: str) -> int:
        """Returns the level at which the cluster has finalized a feature; 0 where it has not."""
        return self.attempts("features").run(lambda: self._brokers.any().features.get(name, 0))

    def _address(self, node: int) -> Address:
        if node not in self._addresses:
            self._update([])
        if node not in self._addresses:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"broker {node} is not in the cluster now")
        return self._addresses[node]

    def _update(self, names: Sequence[str] | None, total_s: float | None = None) -> dict[str, Topic]:
        total_s = self.settings.limits.total_s if total_s is None else total_s
        wanted = None if names is None else [MetadataRequestTopic(name=name) for name in names]
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
        answer: MetadataResponse = _checked(self._brokers.call_any(request, total_s=total_s), error_of)
        self._addresses = {broker.node_id: (broker.host, broker.port) for broker in answer.brokers}
        self._brokers.learn(self._addresses.values())
        topics = {}
        for each in answer.topics:
            topic = _topic(each)
            if topic is not None:
                topics[topic.name] = topic
        for name in names or ():
            self._topics.pop(name, None)
        self._topics.update(topics)
        return topics

    def _after_failure(self, _: Exception) -> None:
        self._topics.clear()
        self._coordinators.clear()


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
