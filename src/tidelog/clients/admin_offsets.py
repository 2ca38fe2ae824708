"""Which offsets partitions hold, and deleting records up to an offset."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import Enum
from typing import Any

from confluent_kafka import OFFSET_END
from confluent_kafka.admin import AdminClient, OffsetSpec

from tidelog.clients.admin_results import FoundOffset
from tidelog.clients.admin_session import AdminSession
from tidelog.clients.places import to_librdkafka
from tidelog.clients.records import TopicPartition
from tidelog.clients.sender import milliseconds


class OffsetAt(Enum):
    """Which offset of a partition `Admin.list_offsets` looks for, beside a time.

    Attributes:
        EARLIEST: That of the oldest record.
        LATEST: The one that the next record will get.
        MAX_TIMESTAMP: That of the record with the newest time.
    """

    EARLIEST = "earliest"
    LATEST = "latest"
    MAX_TIMESTAMP = "max_timestamp"
    """The record with the newest time."""


class OffsetAdmin(AdminSession):
    """Offsets of partitions."""

    def list_offsets(
        self, places: Iterable[TopicPartition], at: OffsetAt | int | datetime = OffsetAt.LATEST
    ) -> dict[TopicPartition, FoundOffset]:
        """Where partitions begin, end, or stand at a time.

        Example:
            from tidelog import Admin, AdminConfig, OffsetAt

            with Admin(AdminConfig(bootstrap_servers=["localhost:9092"])) as admin:
                admin.create_topic("orders", partitions=2)
                places = admin.describe_topic("orders").places()
                for place, found in admin.list_offsets(places, OffsetAt.LATEST).items():
                    print(place, found.offset)

        Args:
            places: The partitions.
            at: An `OffsetAt`; or a `datetime` or milliseconds since 1970, for the first record at or after
                that time.

        Raises:
            UnknownTopic: One of the partitions does not exist.
        """
        spec = _spec(at)
        wanted = {to_librdkafka(place): spec for place in places}
        if not wanted:
            return {}
        answers = self._all("Asking for the offset of", AdminClient.list_offsets, wanted)
        return {
            TopicPartition(place.topic, place.partition): FoundOffset(
                found.offset if found.offset >= 0 else None,
                found.timestamp if found.timestamp is not None and found.timestamp >= 0 else None,
                found.leader_epoch,
            )
            for place, found in answers.items()
        }

    def delete_records(self, before: Mapping[TopicPartition, int | None]) -> dict[TopicPartition, int]:
        """Delete the oldest records of partitions.

        Args:
            before: The offsets that the partitions begin at afterwards. None deletes all records.

        Returns:
            Where the partitions begin now.

        Raises:
            OffsetOutOfRange: An offset lies behind the end of its partition.
        """
        if not before:
            return {}
        wanted = [
            to_librdkafka(place, OFFSET_END if offset is None else offset) for place, offset in before.items()
        ]
        answers = self._all("Deleting records of", AdminClient.delete_records, wanted)
        return {
            TopicPartition(place.topic, place.partition): done.low_watermark
            for place, done in answers.items()
        }


def _spec(at: OffsetAt | int | datetime) -> Any:
    if isinstance(at, OffsetAt):
        return getattr(OffsetSpec, at.value)()
    return OffsetSpec.for_timestamp(milliseconds(at))
