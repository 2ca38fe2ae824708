"""Decides on DeleteTopics, where a topic may be named or given by its id."""

from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import ZERO_UUID, Uuid, uuid_text
from tidelog.metadata.decision import Decision, ItemResult
from tidelog.metadata.image.entities import TopicImage
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.image.records import Record, TopicDeleted


class TopicToDelete(msgspec.Struct, frozen=True):
    """One item of the request: a name or an id, not both."""

    name: str | None = None
    topic_id: Uuid = ZERO_UUID


class DeletedTopic(ItemResult, frozen=True, kw_only=True):
    name: str | None
    topic_id: Uuid


def decide_delete_topics(
    image: ClusterImage,
    topics: Sequence[TopicToDelete],
    *,
    enabled: bool = True,
    charge: Callable[[int], None] | None = None,
) -> Decision[DeletedTopic]:
    """`enabled` is the setting delete.topic.enable. `charge` is called with the number of partitions of each
    topic, and raises KafkaError where a quota is used up."""
    asked = Counter(topics)
    meant = Counter(found.id for item in asked if (found := _find(image, item)) is not None)
    records: list[Record] = []
    results: list[DeletedTopic] = []
    for item in topics:
        try:
            if not enabled:
                raise KafkaError(ErrorCode.TOPIC_DELETION_DISABLED, "Topic deletion is disabled.")
            topic = _check(image, item, asked[item], meant)
            if charge is not None:
                charge(len(topic.partitions))
        except KafkaError as error:
            results.append(DeletedTopic.refused(error, name=item.name, topic_id=item.topic_id))
            continue
        records.append(TopicDeleted(uuid_text(topic.id)))
        results.append(DeletedTopic(name=topic.name, topic_id=topic.id))
    return Decision(records, results)


def _find(image: ClusterImage, item: TopicToDelete) -> TopicImage | None:
    if item.name is None:
        return image.topics_by_id.get(item.topic_id)
    return image.topics.get(item.name) if item.topic_id == ZERO_UUID else None


def _check(image: ClusterImage, item: TopicToDelete, times: int, meant: Counter[Uuid]) -> TopicImage:
    if item.name is not None and item.topic_id != ZERO_UUID:
        raise _invalid("You may not specify both topic name and topic id.")
    if item.name is None and item.topic_id == ZERO_UUID:
        raise _invalid("Neither topic name nor id were specified.")
    if times > 1:
        raise _invalid("Duplicate topic id." if item.name is None else "Duplicate topic name.")
    topic = _find(image, item)
    if topic is None and item.name is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if meant[topic.id] > 1:
        raise _invalid("The provided topic name maps to an ID that was already supplied.")
    return topic


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
