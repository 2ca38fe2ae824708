"""Topics: create, delete, describe, list, grow; and what the cluster is made of."""

from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from tidelog.clients.admin_results import ClusterDescription, PartitionDescription, TopicDescription
from tidelog.clients.admin_session import AdminSession, node_of
from tidelog.clients.error_table import translated
from tidelog.clients.errors import ClientClosed, ClientError, TopicExists, UnknownTopic, UsageError

BROKERS_CHOICE = -1


class TopicAdmin(AdminSession):
    def create_topic(
        self,
        name: str,
        *,
        partitions: int | None = None,
        replication_factor: int | None = None,
        config: Mapping[str, object] | None = None,
        assignment: Iterable[Iterable[int]] | None = None,
        if_not_exists: bool = False,
        validate_only: bool = False,
    ) -> bool:
        """Create a topic; what is left out is the broker's choice. False: it was there (if_not_exists).

        `assignment` lists the replicas of each partition, instead of the two numbers.
        """
        _check_counts(partitions, replication_factor, assignment)
        settings = {key: setting_text(value) for key, value in (config or {}).items()}
        if assignment is not None:
            replicas = [list(ids) for ids in assignment]
            topic = NewTopic(name, len(replicas), replica_assignment=replicas, config=settings)
        else:
            topic = NewTopic(
                name,
                BROKERS_CHOICE if partitions is None else partitions,
                BROKERS_CHOICE if replication_factor is None else replication_factor,
                config=settings,
            )
        try:
            self._all("Creating topic", AdminClient.create_topics, [topic], validate_only=validate_only)
        except TopicExists:
            if not if_not_exists:
                raise
            return False
        return True

    def delete_topics(self, *names: str, missing_ok: bool = False) -> None:
        answers = self._answers("Deleting topic", AdminClient.delete_topics, list(names))
        for answer in answers.values():
            if isinstance(answer, Exception) and not (missing_ok and isinstance(answer, UnknownTopic)):
                raise answer

    def add_partitions(self, name: str, total: int, *, validate_only: bool = False) -> None:
        """Grow a topic to `total` partitions. Keys may go to other partitions from then on."""
        self._all(
            "Adding partitions to topic",
            AdminClient.create_partitions,
            [NewPartitions(name, total)],
            validate_only=validate_only,
        )

    def list_topics(self, *, internal: bool = False) -> list[str]:
        if self._client is None:
            raise ClientClosed("The admin client is closed.")
        client = self._client
        try:
            with translated("Listing topics"):
                found = self._connection.ask(
                    lambda limit_s: client.list_topics(timeout=limit_s),
                    self._timeout_s,
                    lambda: client.poll(0),
                )
        except ClientError as error:
            raise self._connection.explained(error) from error.__cause__
        return sorted(name for name in found.topics if internal or not name.startswith("__"))

    def topic_exists(self, name: str) -> bool:
        try:
            self.describe_topic(name)
        except UnknownTopic:
            return False
        return True

    def describe_topic(self, name: str) -> TopicDescription:
        return self.describe_topics(name)[name]

    def describe_topics(self, *names: str) -> dict[str, TopicDescription]:
        answers = self._all("Describing topic", AdminClient.describe_topics, TopicCollection(list(names)))
        return {name: _topic(answer) for name, answer in answers.items()}

    def describe_cluster(self) -> ClusterDescription:
        found = self._one("Describing the cluster", AdminClient.describe_cluster)
        nodes = sorted(filter(None, map(node_of, found.nodes)), key=lambda node: node.id)
        return ClusterDescription(found.cluster_id, node_of(found.controller), tuple(nodes))


def _check_counts(partitions: int | None, replication_factor: int | None, assignment: object) -> None:
    for name, number in (("partitions", partitions), ("replication_factor", replication_factor)):
        if number is None:
            continue
        if assignment is not None:
            raise UsageError(
                f"create_topic() takes {name} or assignment, not both.",
                cause="the assignment lists the partitions and their replicas already.",
                attempt=f"leave {name} out.",
            )
        if number < 1:
            raise UsageError(
                f"{name}={number} is too small.",
                cause="a topic has at least one partition, and a partition at least one replica.",
                attempt=f"use 1 or more, or leave {name} out for the broker's default.",
            )


def _topic(found: Any) -> TopicDescription:
    partitions = (
        PartitionDescription(
            part.id,
            part.leader.id if part.leader is not None and part.leader.id >= 0 else None,
            tuple(node.id for node in part.replicas),
            tuple(node.id for node in part.isr),
        )
        for part in sorted(found.partitions, key=lambda part: part.id)
    )
    return TopicDescription(found.name, _id_text(found.topic_id), bool(found.is_internal), tuple(partitions))


def _id_text(topic_id: Any) -> str | None:
    """As Kafka prints ids; librdkafka uses the base64 alphabet that is not safe in URLs."""
    return str(topic_id).replace("+", "-").replace("/", "_") if topic_id else None


def setting_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
