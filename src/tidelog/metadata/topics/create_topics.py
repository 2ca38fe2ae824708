"""Decisions on CreateTopics and on auto-created topics.

Each topic of a request succeeds or fails for itself; the records of all that succeed form one batch.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import ZERO_UUID, NodeId, Uuid, uuid_text
from tidelog.metadata.configs.rules import check_topic_configs
from tidelog.metadata.decision import Decision, ItemResult, Steps, decide_at_once
from tidelog.metadata.image.entities import TopicImage
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.image.records import ConfigChanged, Record, ResourceKind, TopicCreated
from tidelog.metadata.topics.assignments import ordered_assignments, partition_records
from tidelog.metadata.topics.cordons import open_brokers
from tidelog.metadata.topics.names import CLUSTER_METADATA, NameCollisions, why_illegal
from tidelog.metadata.topics.placement import place_replicas

DEFAULT = -1
NEW_PARTITIONS_MAX = 10_000
"""Partitions that one request may create, as in Kafka: the records of a decision are one batch in the log."""


PARTITIONS_PER_STEP = 256


class NewTopic(msgspec.Struct, frozen=True):
    """A topic to create. -1 stands for the broker's default."""

    name: str
    num_partitions: int = DEFAULT
    replication_factor: int = DEFAULT
    assignments: Sequence[tuple[int, Sequence[NodeId]]] = ()  # partition and its replicas, leader first
    configs: Sequence[tuple[str, str | None]] = ()


class TopicDefaults(msgspec.Struct, frozen=True):
    num_partitions: int = 1
    replication_factor: int = 1


class CreatedTopic(ItemResult, frozen=True, kw_only=True):
    name: str
    topic_id: Uuid = ZERO_UUID  # stays zero when the request was only checked
    num_partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str] = {}


def decide_create_topics(
    image: ClusterImage,
    topics: Sequence[NewTopic],
    *,
    defaults: TopicDefaults,
    new_id: Callable[[], Uuid],
    validate_only: bool = False,
    config: BrokerConfig | None = None,
) -> Decision[CreatedTopic]:
    """`config` is what topics inherit from; without one, the defaults of all settings."""
    return decide_at_once(
        create_topics_in_steps(
            image, topics, defaults=defaults, new_id=new_id, validate_only=validate_only, config=config
        )
    )


def create_topics_in_steps(
    image: ClusterImage,
    topics: Sequence[NewTopic],
    *,
    defaults: TopicDefaults,
    new_id: Callable[[], Uuid],
    validate_only: bool = False,
    config: BrokerConfig | None = None,
    ids_of: Callable[[str], Iterator[Uuid]] | None = None,
    charge: Callable[[int], None] | None = None,
) -> Steps[CreatedTopic]:
    """As `decide_create_topics`, with a rest after some hundred partitions.

    `charge` is called with the number of partitions of each new topic, and raises KafkaError where a quota is
    used up.

    `ids_of` gives by a topic's name the id that it gets, then those that earlier tries of this request would
    have given it: a topic with such an id was made by a try whose answer was lost, and is answered as that
    would have been.
    """
    config = config or BrokerConfig()
    named = Counter(topic.name for topic in topics)
    collisions = NameCollisions(image.topics)
    records: list[Record] = []
    results: list[CreatedTopic] = []
    created = rested_at = 0
    for number, topic in enumerate(topics):
        if created + number - rested_at >= PARTITIONS_PER_STEP:
            rested_at = created + number
            yield
        try:
            if named[topic.name] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            ids = iter((new_id(),)) if ids_of is None else ids_of(topic.name)
            topic_id = next(ids)
            known = image.topics.get(topic.name)
            if known is not None and (known.id == topic_id or known.id in ids):
                results.append(_made_before(known))
                continue
            _check_name(image, topic.name, collisions)
            configs = _checked_configs(topic.name, topic.configs, config)
            placements = _place(image, topic, topic_id, defaults, created)
            if charge is not None and not validate_only:
                charge(len(placements))
            partitions = []
            for first in range(0, len(placements), PARTITIONS_PER_STEP):
                if first:
                    yield
                some = placements[first : first + PARTITIONS_PER_STEP]
                partitions += partition_records(image, topic_id, first, some)
        except KafkaError as error:
            results.append(CreatedTopic.refused(error, name=topic.name))
            continue
        created += len(placements)
        collisions.add(topic.name)
        records.append(TopicCreated(topic.name, uuid_text(topic_id)))
        records.extend(ConfigChanged(ResourceKind.TOPIC, topic.name, *pair) for pair in configs.items())
        records.extend(partitions)
        results.append(
            CreatedTopic(
                name=topic.name,
                topic_id=ZERO_UUID if validate_only else topic_id,
                num_partitions=len(placements),
                replication_factor=len(placements[0]),
                configs=configs,
            )
        )
    return Decision([] if validate_only else records, results)


def _made_before(topic: TopicImage) -> CreatedTopic:
    return CreatedTopic(
        name=topic.name,
        topic_id=topic.id,
        num_partitions=len(topic.partitions),
        replication_factor=topic.replication_factor,
        configs=topic.configs,
    )


def placement_seed(topic_id: Uuid) -> int:
    """Where in the ring of brokers a topic starts: stable for the topic, different from topic to topic."""
    return int.from_bytes(topic_id[-4:], "big")


def check_partition_budget(count: int, created: int) -> None:
    """`count` more partitions in a request that creates `created` already."""
    if created + count > NEW_PARTITIONS_MAX:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION,
            f"Excessively large number of partitions per request: {created + count}, where one request may "
            f"create {NEW_PARTITIONS_MAX}. Create fewer, and add partitions with further requests.",
        )


def _check_name(image: ClusterImage, name: str, collisions: NameCollisions) -> None:
    if reason := why_illegal(name):
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)
    if name == CLUSTER_METADATA:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Creation of internal topic {name} is prohibited.")
    if name in image.topics:
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    if (other := collisions.find(name)) is not None:
        raise KafkaError(
            ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other}"
        )


def _checked_configs(
    topic: str, configs: Sequence[tuple[str, str | None]], broker: BrokerConfig
) -> dict[str, str]:
    empty = [key for key, value in configs if value is None]
    if empty:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(empty)}"
        )
    given = {key: value for key, value in configs if value is not None}
    check_topic_configs(topic, given, given, broker)
    return given


def _place(
    image: ClusterImage, topic: NewTopic, topic_id: Uuid, defaults: TopicDefaults, created: int
) -> list[tuple[NodeId, ...]]:
    if topic.assignments:
        _check_only_assignments(topic)
        check_partition_budget(len(topic.assignments), created)
        return ordered_assignments(image, topic.assignments)
    if topic.replication_factor < DEFAULT or topic.replication_factor == 0:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if topic.num_partitions < DEFAULT or topic.num_partitions == 0:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."
        )
    count = defaults.num_partitions if topic.num_partitions == DEFAULT else topic.num_partitions
    factor = defaults.replication_factor if topic.replication_factor == DEFAULT else topic.replication_factor
    check_partition_budget(count, created)
    return place_replicas(
        open_brokers(image),
        cordoned=len(image.brokers) - len(open_brokers(image)),
        seed=placement_seed(topic_id),
        first=0,
        count=count,
        replication_factor=factor,
    )


def _check_only_assignments(topic: NewTopic) -> None:
    for value, name in (
        (topic.replication_factor, "replication factor"),
        (topic.num_partitions, "numPartitions"),
    ):
        if value != DEFAULT:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"A manual partition assignment was specified, but {name} was not set to -1.",
            )
