"""A member on confluent-kafka, that is librdkafka."""

from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from tests.interop.driver import Refused
from tests.interop.members.polling import PollingThread

ON_THE_BROKER = "broker:"
FENCED_INSTANCE_ID = 82
OFFSET_OUT_OF_RANGE = 1


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
        settings: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "client.id": "confluent",
            "group.id": group,
            "partition.assignment.strategy": assignor,
            "session.timeout.ms": session_timeout_ms,
            "heartbeat.interval.ms": 200,
            "enable.auto.commit": auto_commit,
            "auto.commit.interval.ms": 200,
            "auto.offset.reset": {"none": "error"}.get(reset, reset),
            "fetch.wait.max.ms": 100,
            "reconnect.backoff.max.ms": 500,
            "log_level": 0,
        }
        if assignor.startswith(ON_THE_BROKER):
            # The new protocol: the broker assigns, and says how often it wants to hear of a member.
            for name in ("partition.assignment.strategy", "session.timeout.ms", "heartbeat.interval.ms"):
                del settings[name]
            settings["group.protocol"] = "consumer"
            settings["group.remote.assignor"] = assignor.removeprefix(ON_THE_BROKER)
        if instance_id is not None:
            settings["group.instance.id"] = instance_id
        self._consumer = Consumer(settings)
        self._consumer.subscribe(
            [topic],
            on_assign=lambda _, places: self._note("assigned", places),
            on_revoke=lambda _, places: self._note("revoked", places),
        )
        self._thread = PollingThread(self._poll)

    def _note(self, kind: str, places: list[TopicPartition]) -> None:
        self._notes.add(kind, [place.partition for place in places])

    def _poll(self) -> None:
        try:
            messages = self._consumer.consume(1000, timeout=0.05)
        except KafkaException as failure:
            messages = []
            self._notes.add("failed", code_of(failure.args[0]))
        read = []
        for message in messages:
            error = message.error()
            if error is None:
                read.append((message.partition(), message.offset()))
            else:
                self._notes.add("failed", code_of(error))
        if read:
            self._notes.add("records", read)

    def commit(self, offsets: dict[int, tuple[int, str]] | None, wait: bool) -> None:
        places: dict[str, Any] = {}
        if offsets is not None:
            places["offsets"] = [
                TopicPartition(self._topic, index, offset, metadata)
                for index, (offset, metadata) in offsets.items()
            ]
        self._ask(lambda: self._consumer.commit(**places, asynchronous=not wait))

    def committed(self, partitions: list[int]) -> list[tuple[int, int, str]]:
        places = [TopicPartition(self._topic, index) for index in partitions]
        found = self._ask(lambda: self._consumer.committed(places, timeout=30))
        return [(place.partition, place.offset, "") for place in found if place.offset >= 0]

    def _ask(self, work: Any) -> Any:
        try:
            return self._thread.run(work)
        except KafkaException as failure:
            raise Refused(*code_of(failure.args[0])) from failure

    def close(self) -> None:
        self._thread.stop()
        self._consumer.close()


def code_of(error: KafkaError) -> tuple[int, str]:
    """A fatal error and a failed start position are librdkafka's own; their words tell the broker's error."""
    code = error.code()
    if code == KafkaError._AUTO_OFFSET_RESET:
        code = OFFSET_OUT_OF_RANGE
    elif code == KafkaError._FATAL and "fenced" in error.str():
        code = FENCED_INSTANCE_ID
    return code, error.str()
