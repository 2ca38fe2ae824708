"""What the topic commands ask of the broker, in plain values. Errors for one topic don't hide the others."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.cli.connection import Cluster, as_cli_error, exit_for
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.session import Session
from tidelog.cli.topic.partition_sizes import partition_sizes

OWN_SOURCE = 1  # DYNAMIC_TOPIC_CONFIG: set on the topic itself


@dataclass(frozen=True, slots=True)
class PartitionState:
    partition: int
    leader: int | None
    replicas: list[int]
    in_sync: list[int]
    start: int | None
    end: int | None
    size: int | None

    @property
    def records(self) -> int | None:
        return None if self.start is None or self.end is None else self.end - self.start


@dataclass(frozen=True, slots=True)
class TopicState:
    name: str
    topic_id: str | None
    internal: bool
    partitions: list[PartitionState]
    config: dict[str, str]

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "id": self.topic_id,
            "internal": self.internal,
            "config": self.config,
            "partitions": [
                {
                    "partition": part.partition,
                    "leader": part.leader,
                    "replicas": part.replicas,
                    "in_sync": part.in_sync,
                    "start_offset": part.start,
                    "end_offset": part.end,
                    "size_bytes": part.size,
                }
                for part in self.partitions
            ],
        }


def list_names(cluster: Cluster) -> list[Any]:
    """Every topic's metadata as confluent-kafka gives it, by name."""
    listed = cluster.list_topics()
    return [listed.topics[name] for name in sorted(listed.topics)]


def describe(cluster: Cluster, names: Sequence[str]) -> list[TopicState]:
    found = _metadata(cluster, names)
    starts, ends = (_offsets(cluster, found, edge) for edge in ("earliest", "latest"))
    sizes = partition_sizes(cluster.session, found)
    own = own_configs(cluster, names)
    return [
        TopicState(
            name=topic.name,
            topic_id=_id_text(topic.topic_id),
            internal=topic.is_internal,
            config=own[topic.name],
            partitions=[
                PartitionState(
                    partition=part.id,
                    leader=part.leader.id if part.leader else None,
                    replicas=[node.id for node in part.replicas],
                    in_sync=[node.id for node in part.isr],
                    start=starts.get((topic.name, part.id)),
                    end=ends.get((topic.name, part.id)),
                    size=sizes.get((topic.name, part.id)),
                )
                for part in sorted(topic.partitions, key=lambda part: part.id)
            ],
        )
        for topic in found
    ]


def _id_text(topic_id: Any) -> str | None:
    """As Kafka prints ids; librdkafka uses the base64 alphabet that is not safe in URLs."""
    return str(topic_id).replace("+", "-").replace("/", "_") if topic_id else None


def partition_ids(cluster: Cluster, name: str) -> list[int]:
    """The partitions of a topic; NOT_FOUND when there is no such topic. Never creates it."""
    [topic] = _metadata(cluster, [name])
    return sorted(part.id for part in topic.partitions)


def _metadata(cluster: Cluster, names: Sequence[str]) -> list[Any]:
    from confluent_kafka import KafkaError, TopicCollection

    answers = cluster.ask(cluster.admin.describe_topics, TopicCollection(list(names)))
    for name, answer in answers.items():
        if isinstance(answer, KafkaError):
            raise topic_error(answer, name, cluster.session)
    return [answers[name] for name in names]


def _offsets(cluster: Cluster, topics: Iterable[Any], edge: str) -> dict[tuple[str, int], int]:
    from confluent_kafka import KafkaError, TopicPartition
    from confluent_kafka.admin import OffsetSpec

    spec = getattr(OffsetSpec, edge)()
    wanted = {
        TopicPartition(topic.name, part.id): spec
        for topic in topics
        for part in topic.partitions
        if part.leader is not None
    }
    if not wanted:
        return {}
    answers = cluster.ask(cluster.admin.list_offsets, wanted)
    return {
        (place.topic, place.partition): answer.offset
        for place, answer in answers.items()
        # Below zero while no leader can tell: librdkafka's word for "not known".
        if not isinstance(answer, KafkaError) and answer.offset >= 0
    }


def own_configs(cluster: Cluster, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """The settings that are set on each topic itself."""
    from confluent_kafka import KafkaError
    from confluent_kafka.admin import ConfigResource, ResourceType

    resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
    answers = cluster.ask(cluster.admin.describe_configs, resources)
    found: dict[str, dict[str, str]] = {}
    for resource, answer in answers.items():
        if isinstance(answer, KafkaError):
            raise topic_error(answer, resource.name, cluster.session)
        found[resource.name] = {
            entry.name: entry.value
            for entry in sorted(answer.values(), key=lambda entry: entry.name)
            if entry.source == OWN_SOURCE
        }
    return found


def topic_error(error: Any, name: str, session: Session) -> CliError:
    """A broker's refusal about one topic, with the command that would help."""
    code = exit_for(error)
    if code is Exit.NOT_FOUND:
        return CliError(
            f"There is no topic '{name}' at {session.servers}.",
            cause="it was never created, was deleted, or lives in another cluster.",
            attempt=f"tidelog topic list, or: tidelog topic create {name}",
            code=code,
        )
    if code is Exit.EXISTS:
        return CliError(
            f"Topic '{name}' exists already.",
            attempt=f"tidelog topic describe {name}, or create with --if-not-exists",
            code=code,
        )
    if error.name() in ("LEADER_NOT_AVAILABLE", "_NOENT"):  # the latter when librdkafka found none
        return CliError(
            f"Topic '{name}' has partitions without a leader.",
            cause="the brokers with in-sync replicas are down, or an election is in progress.",
            attempt=f"tidelog topic describe {name}, then: tidelog cluster status",
            code=code,
        )
    if error.name() == "INVALID_REPLICATION_FACTOR":
        return CliError(
            f"Topic '{name}': {error.str().rstrip('.')}.",
            cause="a broker holds one replica of a partition at most.",
            attempt="tidelog cluster brokers, and a --replication-factor of at most that many",
            code=code,
        )
    return as_cli_error(error, session, f"Topic '{name}'")


def raise_refusals(answers: dict[str, Any], session: Session) -> None:
    from confluent_kafka import KafkaError

    for name, answer in answers.items():
        if isinstance(answer, KafkaError):
            raise topic_error(answer, name, session)
