"""A member on kafka-python."""

from typing import Any

import kafka.errors
from kafka import ConsumerRebalanceListener, KafkaConsumer, OffsetAndMetadata, TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

from tests.interop.driver import Refused
from tests.interop.members.polling import PollingThread

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, notes: Any) -> None:
        self._notes = notes

    def on_partitions_assigned(self, assigned: Any) -> None:
        self._notes.add("assigned", [place.partition for place in assigned])

    def on_partitions_revoked(self, revoked: Any) -> None:
        self._notes.add("revoked", [place.partition for place in revoked])

    def on_partitions_lost(self, lost: Any) -> None:
        self.on_partitions_revoked(lost)


class Member:
    def __init__(
        self,
        notes: Any,
        *,
        bootstrap: str,
        group: str,
        topic: str,
        assignor: str,
        instance_id: str | None,
        session_timeout_ms: int,
        auto_commit: bool,
        reset: str,
    ) -> None:
        self._notes = notes
        self._topic = topic
        self._consumer = KafkaConsumer(
            bootstrap_servers=bootstrap,
            client_id="kafka-python",
            group_id=group,
            group_instance_id=instance_id,
            partition_assignment_strategy=[ASSIGNORS[assignor]],
            session_timeout_ms=session_timeout_ms,
            heartbeat_interval_ms=200,
            enable_auto_commit=auto_commit,
            auto_commit_interval_ms=200,
            auto_offset_reset=reset,
            fetch_max_wait_ms=100,
            reconnect_backoff_max_ms=500,
        )
        self._consumer.partitions_for_topic(topic)  # joining before it knows them, it may hang
        self._consumer.subscribe([topic], listener=Listener(notes))
        self._thread = PollingThread(self._poll)

    def _poll(self) -> None:
        try:
            # A poll that ends before the join does makes it join again, and two joins at a time may hang.
            polled = self._consumer.poll(timeout_ms=200 if self._consumer.assignment() else 3000)
        except kafka.errors.KafkaError as failure:
            self._notes.add("failed", code_of(failure))
            return
        if read := [(one.partition, one.offset) for messages in polled.values() for one in messages]:
            self._notes.add("records", read)

    def commit(self, offsets: dict[int, tuple[int, str]] | None, wait: bool) -> None:
        named = {
            TopicPartition(self._topic, index): OffsetAndMetadata(offset, metadata, -1)
            for index, (offset, metadata) in (offsets or {}).items()
        }
        commit = self._consumer.commit if wait else self._consumer.commit_async
        self._ask(lambda: commit(named or None))

    def committed(self, partitions: list[int]) -> list[tuple[int, int, str]]:
        places = [TopicPartition(self._topic, index) for index in partitions]
        found = {
            place.partition: self._ask(lambda place=place: self._consumer.committed(place, metadata=True))
            for place in places
        }
        return [(index, one.offset, one.metadata) for index, one in found.items() if one is not None]

    def _ask(self, work: Any) -> Any:
        try:
            return self._thread.run(work)
        except kafka.errors.KafkaError as failure:
            raise Refused(*code_of(failure)) from failure

    def close(self) -> None:
        self._thread.stop()
        self._consumer.close()


def code_of(failure: kafka.errors.KafkaError) -> tuple[int, str]:
    is_reset = isinstance(
        failure, kafka.errors.OffsetOutOfRangeError | kafka.errors.NoOffsetForPartitionError
    )
    return (1 if is_reset else getattr(failure, "errno", -1)), repr(failure)
