"""A member of a share group on confluent-kafka, that is librdkafka."""

import time
from base64 import b64encode
from typing import Any

from confluent_kafka import AcknowledgeType, KafkaException, Message, ShareConsumer

from tests.interop.driver import Refused
from tests.interop.members.polling import PollingThread


class ShareMember:
    def __init__(
        self,
        notes: Any,
        *,
        bootstrap: str,
        group: str,
        topics: list[str],
        explicit: bool,
        exact: bool,
        max_records: int,
        settings: dict[str, str],
    ) -> None:
        self._notes = notes
        self._explicit = explicit
        self._held: dict[tuple[str, int, int], Message] = {}
        self._thread: PollingThread | None = None
        assert not exact, "this client has no such mode"
        self._consumer = ShareConsumer(
            {
                "bootstrap.servers": bootstrap,
                "client.id": "confluent",
                "group.id": group,
                "share.acknowledgement.mode": "explicit" if explicit else "implicit",
                "max.poll.records": max_records,
                "fetch.wait.max.ms": 100,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
                **settings,
            }
        )
        self._consumer.set_acknowledgement_commit_callback(self._answered)
        self._consumer.subscribe(topics)

    def _answered(self, offsets: Any, failure: KafkaException | None) -> None:
        settled = [
            (place.topic, place.partition, offset) for place, some in offsets.items() for offset in some
        ]
        self._notes.add("settled" if failure is None else "unsettled", settled)
        if failure is not None:
            self._notes.add("failed", code_of(failure))

    def take(self, patience_ms: int) -> list[Any]:
        """The records of the first poll that has any."""
        deadline = time.monotonic() + patience_ms / 1000
        while True:
            messages = self._poll(0.2)
            if messages or time.monotonic() > deadline:
                return [self._described(message) for message in messages]

    def _poll(self, seconds: float) -> list[Message]:
        try:
            messages = list(self._consumer.poll(seconds))
        except KafkaException as failure:
            raise Refused(*code_of(failure)) from failure
        for message in messages:
            if (error := message.error()) is not None:
                self._notes.add("failed", (error.code(), error.str()))
        return [message for message in messages if message.error() is None]

    def _described(self, message: Message) -> list[Any]:
        self._held[where(message)] = message
        headers = [(name, text(value)) for name, value in message.headers() or ()]
        return [
            *where(message),
            message.delivery_count(),
            text(message.key()),
            text(message.value()),
            headers,
        ]

    def settle(self, places: list[tuple[str, int, int]], kind: str) -> None:
        for topic, index, offset in places:
            self._consumer.acknowledge(self._held[topic, index, offset], AcknowledgeType[kind.upper()])

    def flush(self) -> list[tuple[str, int, int]]:
        try:
            answers = self._consumer.commit_sync(30.0)
        except KafkaException as failure:
            raise Refused(*code_of(failure)) from failure
        return [
            (place.topic, place.partition, 0 if failure is None else code_of(failure)[0])
            for place, failure in answers.items()
        ]

    def work(self) -> None:
        self._thread = PollingThread(self._work_once)

    def _work_once(self) -> None:
        try:
            messages = self._poll(0.1)
            if messages:
                self._notes.add("taken", [(*where(one), one.delivery_count()) for one in messages])
            if messages and self._explicit:
                for message in messages:
                    self._consumer.acknowledge(message)
                self._consumer.commit_async()
        except Refused as refused:
            self._notes.add("failed", (refused.code, str(refused)))
        except KafkaException as failure:
            self._notes.add("failed", code_of(failure))

    def close(self) -> None:
        if self._thread is not None:
            self._thread.stop()
        self._consumer.close()


def where(message: Message) -> tuple[str, int, int]:
    topic, index, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None
    assert index is not None
    assert offset is not None
    return topic, index, offset


def text(data: Any) -> str | None:
    return None if data is None else b64encode(data).decode()


def code_of(failure: KafkaException) -> tuple[int, str]:
    return failure.args[0].code(), failure.args[0].str()
