"""Which offsets partitions hold, and deleting records up to an offset."""

import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import Enum
from typing import Any

from confluent_kafka import OFFSET_END
from confluent_kafka.admin import AdminClient, OffsetSpec

from tidelog.clients.admin.results import FoundOffset
from tidelog.clients.admin.session import AdminSession, raise_first_refusal
from tidelog.clients.errors import NoLeader, UnknownTopic
from tidelog.clients.places import to_librdkafka
from tidelog.clients.records import TopicPartition
from tidelog.clients.timestamps import milliseconds

PAUSE_S = 0.1
UNKNOWN_S = 1.0
"""A partition that no broker knows for so long does not exist."""


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
                admin.create_topic("orders", if_not_exists=True)
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
        answers = self._ask_leaders(
            "Asking for the offset of",
            AdminClient.list_offsets,
            lambda asked: {to_librdkafka(place): spec for place in asked},
            places,
        )
        return {
            place: FoundOffset(
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
        ends = {place: OFFSET_END if offset is None else offset for place, offset in before.items()}
        answers = self._ask_leaders(
            "Deleting records of",
            AdminClient.delete_records,
            lambda asked: [to_librdkafka(place, ends[place]) for place in asked],
            before,
        )
        return {place: done.low_watermark for place, done in answers.items()}

    def _ask_leaders(
        self,
        what: str,
        call: Callable[..., Mapping[Any, Any]],
        form: Callable[[Iterable[TopicPartition]], Any],
        places: Iterable[TopicPartition],
    ) -> dict[TopicPartition, Any]:
        """{partition: answer of its leader}; `form` makes the call's argument of some partitions.

        Brokers learn one after the other of a new topic or leader, so those that do not know yet are asked
        again.
        """
        began = time.monotonic()
        answers: dict[TopicPartition, Any] = {}
        left = list(places)
        while left:
            found = self._answers(what, call, form(left))
            answers |= {TopicPartition(at.topic, at.partition): answer for at, answer in found.items()}
            passed_s = time.monotonic() - began
            left = [place for place in left if self._may_pass(answers[place], passed_s)]
            if left:
                time.sleep(PAUSE_S)
        raise_first_refusal(answers)
        return answers

    def _may_pass(self, answer: object, passed_s: float) -> bool:
        if isinstance(answer, NoLeader):
            return passed_s < self._timeout_s
        return isinstance(answer, UnknownTopic) and answer.reason == "_NOENT" and passed_s < UNKNOWN_S


def _spec(at: OffsetAt | int | datetime) -> Any:
    if isinstance(at, OffsetAt):
        return getattr(OffsetSpec, at.value)()
    return OffsetSpec.for_timestamp(milliseconds(at))
