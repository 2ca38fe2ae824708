"""Decisions on leader elections: those that a client requests, and those that the controller runs by
itself."""

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import IntEnum

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NodeId
from tidelog.metadata.decision import Decision, ItemResult
from tidelog.metadata.image.entities import NO_LEADER, PartitionImage, TopicImage
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.image.records import PartitionChanged, Record
from tidelog.metadata.leaders.election_rules import Election, ElectionRules
from tidelog.metadata.leaders.partition_edit import edit_partition

ELECTIONS_PER_DECISION_MAX = 1000
"""Elections that the controller runs at once by itself; what is left waits for the next round."""


class ElectionKind(IntEnum):
    """As on the wire."""

    PREFERRED = 0
    UNCLEAN = 1


class ElectionResult(ItemResult, frozen=True, kw_only=True):
    topic: str
    partition: int


def decide_elect_leaders(
    image: ClusterImage,
    kind: ElectionKind,
    wanted: Sequence[tuple[str, int]] | None,
    config: BrokerConfig | None = None,
) -> Decision[ElectionResult]:
    """With None for `wanted`: every partition, with a result only for those that need an election.

    An unclean election runs whatever the topic's settings say, since the client asked for it explicitly.
    """
    rules = ElectionRules.of(image, config)
    records: list[Record] = []
    answers: dict[tuple[str, int], ElectionResult] = {}
    for topic_name, index in _every_partition(image) if wanted is None else wanted:
        if (topic_name, index) in answers:
            continue
        try:
            records.append(_elected(image, kind, topic_name, index, rules))
            answer = ElectionResult(topic=topic_name, partition=index)
        except KafkaError as error:
            answer = ElectionResult.refused(error, topic=topic_name, partition=index)
        answers[topic_name, index] = answer
    if wanted is not None:
        return Decision(records, [answers[item] for item in wanted])
    return Decision(
        records, [answer for answer in answers.values() if answer.error != ErrorCode.ELECTION_NOT_NEEDED]
    )


def decide_preferred_leaders(
    image: ClusterImage,
    imbalance_percent: int,
    config: BrokerConfig | None = None,
    *,
    limit: int = ELECTIONS_PER_DECISION_MAX,
) -> Decision[None]:
    """Give leadership back to preferred replicas, for brokers that lead too few of those that prefer them."""
    prefer: Counter[NodeId] = Counter()
    not_preferred: dict[NodeId, list[tuple[TopicImage, PartitionImage]]] = {}
    for topic, partition in image.partitions():
        preferred = partition.replicas[0]
        prefer[preferred] += 1
        if partition.leader != preferred:
            not_preferred.setdefault(preferred, []).append((topic, partition))
    rules = ElectionRules.of(image, config)
    records: list[Record] = []
    for broker_id, found in not_preferred.items():
        if len(found) * 100 <= imbalance_percent * prefer[broker_id]:
            continue
        for topic, partition in found:
            if len(records) >= limit:
                return Decision(records, [])
            if broker_id not in partition.isr or not rules.may_lead(partition, broker_id):
                continue
            record = edit_partition(topic, partition, rules, election=Election.PREFERRED)
            if record is not None:
                records.append(record)
    return Decision(records, [])


def decide_missing_leaders(
    image: ClusterImage, config: BrokerConfig | None = None, *, limit: int = ELECTIONS_PER_DECISION_MAX
) -> Decision[None]:
    """Leaders for partitions without one: unclean where the topic now allows that."""
    rules = ElectionRules.of(image, config)
    records: list[Record] = []
    for topic, partition in image.partitions():
        if partition.leader != NO_LEADER or len(records) >= limit:
            continue
        election = rules.election_for(topic)
        record = edit_partition(topic, partition, rules, election=election)
        if record is not None:
            records.append(record)
    return Decision(records, [])


def _elected(
    image: ClusterImage, kind: ElectionKind, topic_name: str, index: int, rules: ElectionRules
) -> PartitionChanged:
    topic = image.topics.get(topic_name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {topic_name}")
    partition = topic.partition(index)
    if partition is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {topic_name}-{index}")
    if kind is ElectionKind.PREFERRED:
        needed, election = partition.leader != partition.replicas[0], Election.PREFERRED
        refusal = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    else:
        needed, election = partition.leader == NO_LEADER, Election.UNCLEAN
        refusal = ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    if not needed:
        raise KafkaError(ErrorCode.ELECTION_NOT_NEEDED)
    record = edit_partition(topic, partition, rules, election=election)
    if record is None:
        raise KafkaError(refusal)
    return record


def _every_partition(image: ClusterImage) -> Iterator[tuple[str, int]]:
    for topic, partition in image.partitions():
        yield topic.name, partition.index
