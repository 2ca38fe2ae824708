"""A process that copies records exactly once: it reads, writes and commits what it read, in transactions.

It belongs to a group that shares the input. Each transaction writes a copy of every record it read to the
same partition of the output, and one record to the journal. One of ten is aborted. What it does goes to
stdout, a JSON object a line, so that nothing is forgotten when it is killed; copiers.py reads them.
"""

import argparse
import json
import random
import sys
import time
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from tests.chaos.recorded_clients import PASSING, RECONNECT

PATIENCE_S = 30.0
RECORDS_MAX = 20
"""Of one transaction."""


class Fatal(Exception):
    """This producer cannot go on; a new one takes its place."""


class Copier:
    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._chance = random.Random(f"{options.name}")
        self._number = 0
        self._group: Any = None
        """How the group knows this member, in the generation in which it was given its share."""
        self._batch: list[Message] = []
        self._consumer = Consumer(
            {
                "bootstrap.servers": options.servers,
                "client.id": options.name,
                "group.id": options.group,
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "session.timeout.ms": 3_000,
                "heartbeat.interval.ms": 500,
                "fetch.wait.max.ms": 100,
                "fetch.error.backoff.ms": 50,
                "topic.metadata.refresh.interval.ms": 5_000,
                **RECONNECT,
            }
        )
        self._producer = Producer(
            {
                "bootstrap.servers": options.servers,
                "client.id": options.name,
                "transactional.id": options.id,
                "transaction.timeout.ms": 30_000,
                "linger.ms": 2,
                "request.timeout.ms": 5_000,
                "retry.backoff.ms": 50,
                "topic.metadata.refresh.interval.ms": 5_000,
                **RECONNECT,
            }
        )

    def run(self) -> None:
        self._persist(self._producer.init_transactions)
        self._consumer.subscribe([self._options.input], on_assign=self._assigned, on_revoke=self._revoked)
        while True:
            self._read_some()
            if self._batch:
                self._copy(self._batch)

    # Reading

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._batch = []
        self._group = consumer.consumer_group_metadata()
        tell(subscribe=time.monotonic())

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._batch = []

    def _read_some(self) -> None:
        """One message at a time: a rebalance comes between two, and takes away what was read before it."""
        self._batch = []
        message = self._consumer.poll(0.1)
        while message is not None:
            if (error := message.error()) is None:
                self._batch.append(message)
            elif not error.retriable() and error.code() not in PASSING:
                tell(complaint=f"reading: {error}")
            message = self._consumer.poll(0) if len(self._batch) < RECORDS_MAX else None

    def _rewind(self) -> None:
        """To what is committed: the records of a transaction that was aborted are read again."""
        assigned = self._consumer.assignment()
        while assigned:
            try:
                places = self._consumer.committed(assigned, timeout=PATIENCE_S)
            except KafkaException:
                continue
            if all(place.error is None for place in places):
                break
        else:
            return
        for place in places:
            place.offset = place.offset if place.offset >= 0 else OFFSET_BEGINNING
            try:
                self._consumer.seek(place)
            except KafkaException as failure:
                # It was taken away meanwhile: whoever gets it begins where it is committed.
                if failure.args[0].code() != KafkaError._STATE:
                    raise
        tell(subscribe=time.monotonic())

    # Writing

    def _copy(self, batch: list[Message]) -> None:
        self._number += 1
        attempt = f"{self._options.name}.{self._number}"
        sent: list[list[Any]] = [
            [self._options.output, m.partition(), f"{m.partition()}:{m.offset()}:{attempt}"] for m in batch
        ]
        sent.append([self._options.journal, self._chance.randrange(self._options.partitions), attempt])
        read = [[m.topic(), m.partition(), m.offset(), (m.value() or b"").decode()] for m in batch]
        tell(begin=self._number, at=time.monotonic(), read=read, sent=sent)
        offsets: dict[str, int] = {}
        wants_commit = self._chance.random() >= self._options.aborts
        outcome, error = "fail", ""
        try:
            self._producer.begin_transaction()
            for topic, partition, value in sent:
                self._produce(topic, partition, value, offsets)
            self._send_offsets(batch)
            if wants_commit:
                # From here on nobody knows, until there is an answer.
                outcome = "info"
                self._persist(self._producer.commit_transaction)
                outcome = "ok"
            else:
                self._persist(self._producer.abort_transaction)
        except KafkaException as failure:
            error = str(failure.args[0])
            if failure.args[0].fatal():
                raise Fatal(error) from failure
            self._persist(self._producer.abort_transaction)
            outcome = "fail"
        finally:
            ended = time.monotonic()
            tell(end=self._number, at=ended, outcome=outcome, error=error, offsets=offsets)
        if outcome != "ok":
            self._rewind()

    def _produce(self, topic: str, partition: int, value: str, offsets: dict[str, int]) -> None:
        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is None:
                offsets[value] = message.offset() or 0

        while True:
            try:
                self._producer.produce(topic, value, partition=partition, on_delivery=delivered)
            except BufferError:
                self._producer.poll(0.1)
            else:
                return

    def _send_offsets(self, batch: list[Message]) -> None:
        ends: dict[tuple[str, int], int] = {}
        for message in batch:
            ends[message.topic() or "", message.partition() or 0] = (message.offset() or 0) + 1
        places = [TopicPartition(topic, partition, end) for (topic, partition), end in ends.items()]
        self._persist(lambda _: self._producer.send_offsets_to_transaction(places, self._group, PATIENCE_S))

    @staticmethod
    def _persist(work: Any) -> None:
        """Again, as long as librdkafka says that this may help."""
        while True:
            try:
                work(PATIENCE_S)
            except KafkaException as failure:
                error = failure.args[0]
                if not error.retriable() or error.txn_requires_abort() or error.fatal():
                    raise
                tell(again=str(error), at=time.monotonic())
            else:
                return


def tell(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for text in ("servers", "name", "id", "group", "input", "output", "journal"):
        parser.add_argument(f"--{text}", required=True)
    parser.add_argument("--partitions", type=int, required=True)
    parser.add_argument("--aborts", type=float, default=0.1)
    try:
        Copier(parser.parse_args()).run()
    except Fatal as failure:
        tell(fatal=str(failure))
        sys.exit(3)
    except KafkaException as failure:
        tell(fatal=repr(failure))
        sys.exit(3)


if __name__ == "__main__":
    main()
