"""Records of assigned partitions, one after another, until every span is read. No group is involved."""

import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from tidelog.cli.connection import Cluster, translated
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.output import note
from tidelog.cli.records.format import Consumed
from tidelog.cli.records.spans import Span
from tidelog.cli.topic.admin import topic_error

POLL_S = 0.25


class Reader:
    def __init__(
        self, cluster: Cluster, topic: str, spans: Sequence[Span], isolation: str, *, keep_waiting: bool
    ) -> None:
        self.session = cluster.session
        self.topic = topic
        self.keep_waiting = keep_waiting
        self._open = {span.partition: span for span in spans}
        self._lost = False
        self._consumer = cluster.consumer(
            **{
                "auto.offset.reset": "error",
                "enable.partition.eof": True,
                "isolation.level": isolation,
                "error_cb": self._on_client_error,
            }
        )

    def records(self) -> Iterator[Consumed]:
        from confluent_kafka import TopicPartition

        places = [TopicPartition(self.topic, part, span.start) for part, span in self._open.items()]
        # Metadata first: a topic that is assigned just after librdkafka has connected waits a second for it.
        with translated(self.session):
            self._consumer.list_topics(self.topic, timeout=self.session.timeout_s)
        self._consumer.assign(places)
        yield from self._poll()
        # Not closed: there is no group to leave.

    def _poll(self) -> Iterator[Consumed]:
        heard = time.monotonic()
        while self._open:
            message = self._consumer.poll(0)
            if message is None:
                sys.stdout.flush()  # nothing is waiting: let the reader see what there is
                message = self._consumer.poll(POLL_S)
            if message is None:
                if not self.keep_waiting and time.monotonic() - heard > self.session.timeout_s:
                    raise self._silence()
                continue
            heard = time.monotonic()
            if message.error():
                self._on_error(message)
                continue
            self._lost = False
            span = self._open.get(message.partition())
            if span is None:
                continue
            if span.end is not None and message.offset() >= span.end:
                self._done(message.partition())
                continue
            yield Consumed.from_message(message)
            if span.end is not None and message.offset() + 1 >= span.end:
                self._done(message.partition())

    def _on_error(self, message: Any) -> None:
        from confluent_kafka import KafkaError

        error = message.error()
        if error.code() == KafkaError._PARTITION_EOF:
            # Short of the end that was asked for, it is a new leader's that has not yet heard from its
            # followers how far the log is sure to go: it will.
            span = self._open.get(message.partition())
            if span is not None and span.end is not None and message.offset() >= span.end:
                self._done(message.partition())
        elif error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
            pass  # librdkafka looks for a group's coordinator, though this consumer has no use for one
        elif not error.retriable() or error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise topic_error(error, self.topic, self.session)

    def _done(self, partition: int) -> None:
        from confluent_kafka import TopicPartition

        if self._open.pop(partition, None) is not None and self._open:
            self._consumer.incremental_unassign([TopicPartition(self.topic, partition)])

    def _on_client_error(self, error: Any) -> None:
        from confluent_kafka import KafkaError

        if self.keep_waiting and not self._lost and error.code() == KafkaError._ALL_BROKERS_DOWN:
            self._lost = True
            note(f"[yellow]The connection to {self.session.servers} is lost; waiting for the broker.[/]")

    def _silence(self) -> CliError:
        return CliError(
            f"The broker at {self.session.servers} sent nothing for {self.session.timeout_s:g} s, "
            f"though {self.topic} has records to read.",
            cause="the broker stopped, or advertises an address that this machine cannot reach.",
            attempt="the same command with --timeout 60",
            code=Exit.TIMED_OUT,
        )
