"""Our places and offsets as librdkafka's `TopicPartition`, and back."""

from collections.abc import Iterable
from typing import Any

from confluent_kafka import TopicPartition as LibrdkafkaPlace

from tidelog.clients.records import OffsetAndMetadata, TopicPartition


def to_librdkafka(place: TopicPartition, position: int | OffsetAndMetadata | None = None) -> LibrdkafkaPlace:
    if position is None:
        return LibrdkafkaPlace(place.topic, place.partition)
    if isinstance(position, OffsetAndMetadata):
        return LibrdkafkaPlace(place.topic, place.partition, position.offset, position.metadata or None)
    return LibrdkafkaPlace(place.topic, place.partition, position)


def all_to_librdkafka(places: Iterable[TopicPartition]) -> list[LibrdkafkaPlace]:
    return [to_librdkafka(place) for place in places]


def from_librdkafka(places: Iterable[Any]) -> list[TopicPartition]:
    return [TopicPartition(place.topic, place.partition) for place in places]
