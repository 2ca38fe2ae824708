"""Topics: create, delete, describe, list, grow; and what the cluster is made of."""

from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from tidelog.clients.admin.results import ClusterDescription, PartitionDescription, TopicDescription
from tidelog.clients.admin.session import AdminSession, node_of
from tidelog.clients.error_table import translated
from tidelog.clients.errors import ClientClosed, ClientError, TopicExists, UnknownTopic, UsageError

BROKERS_CHOICE = -1


class TopicAdmin(AdminSession):
    """Topics, and what the cluster is made of."""

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
        """Create a topic.

        Example:
            from tidelog import Admin, AdminConfig

            with Admin(AdminConfig(bootstrap_servers=["localhost:9092"])) as admin:
                settings = {"cleanup.policy": "compact"}
                print(admin.create_topic("users", partitions=6, config=settings, if_not_exists=True))

        Args:
            name: The topic: letters, digits, dots, dashes and underscores.
            partitions: How many partitions. None: the broker's `num.partitions`.
            replication_factor: How many brokers hold each of them. None: the broker's
                `default.replication.factor`.
            config: Settings of the topic, under Kafka's names. Numbers, flags and lists need not be text.
            assignment: The brokers of each partition, in place of the two numbers: `[[1, 2], [2, 3]]`.
            if_not_exists: A topic of this name is fine, however it is set up.
            validate_only: Check everything, and create nothing.

        Returns:
            True, or False if the topic was there already (`if_not_exists`).

        Raises:
            TopicExists: There is one, and `if_not_exists` is not set.
            RequestRefused: The broker does not accept the name, a number or a setting.
            UsageError: A number is less than 1, or stands beside an assignment.
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
        """Delete topics with all their records.

        Args:
            names: The topics.
            missing_ok: Ignore a topic that does not exist.

        Raises:
            UnknownTopic: There is no such topic, and `missing_ok` is not set.
        """
        answers = self._answers("Deleting topic", AdminClient.delete_topics, list(names))
        for answer in answers.values():
            if isinstance(answer, Exception) and not (missing_ok and isinstance(answer, UnknownTopic)):
                raise answer

    def add_partitions(self, name: str, total: int, *, validate_only: bool = False) -> None:
        """Let a topic grow. A key may go to another partition from then on, and a topic never shrinks.

        Args:
            name: The topic.
            total: How many partitions it has afterwards.
            validate_only: Check, and change nothing.

        Raises:
            RequestRefused: It has as many already, or more.
        """
        self._all(
            "Adding partitions to topic",
            AdminClient.create_partitions,
            [NewPartitions(name, total)],
            validate_only=validate_only,
        )

    def list_topics(self, *, internal: bool = False) -> list[str]:
        """The names of all topics, sorted.

        Args:
            internal: Name those of the brokers themselves too, such as `__consumer_offsets`.
        """
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
        """Whether there is a topic of this name.

        Args:
            name: The topic.
        """
        try:
            self.describe_topic(name)
        except UnknownTopic:
            return False
        return True

    def describe_topic(self, name: str) -> TopicDescription:
        """The partitions of a topic, with their leaders and replicas.

        Args:
            name: The topic.

        Raises:
            UnknownTopic: There is no such topic.
        """
        return self.describe_topics(name)[name]

    def describe_topics(self, *names: str) -> dict[str, TopicDescription]:
        """The same for several topics, by name.

        Args:
            names: The topics.

        Raises:
            UnknownTopic: One of them does not exist.
        """
        answers = self._all("Describing topic", AdminClient.describe_topics, TopicCollection(list(names)))
        return {name: _topic(answer) for name, answer in answers.items()}

    def describe_cluster(self) -> ClusterDescription:
        """The brokers of the cluster, and which of them is the controller."""
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
