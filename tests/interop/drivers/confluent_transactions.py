"""Transactions with confluent-kafka, that is librdkafka: the first protocol."""

import time
from collections.abc import Iterable, Sequence

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition

from tests.interop.driver import PATIENCE_S, Refused, Unfinished
from tests.interop.transactor import Placed


class ConfluentTransactor:
    def __init__(self, bootstrap: str, transactional_id: str, timeout_ms: int) -> None:
        self._bootstrap = bootstrap
        self._failed: list[KafkaError] = []
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": timeout_ms,
                # librdkafka refuses a transaction that is shorter than one message may take
                "message.timeout.ms": min(timeout_ms, 30_000),
                "linger.ms": 0,
                "log_level": 0,
            }
        )
        self._do(self._producer.init_transactions, PATIENCE_S)

    @staticmethod
    def _do(call: object, *arguments: object) -> None:
        try:
            call(*arguments)  # type: ignore[operator]
        except KafkaException as failure:
            raise Refused(failure.args[0].code(), failure.args[0].str()) from failure

    def begin(self) -> None:
        self._do(self._producer.begin_transaction)

    def send(self, records: Iterable[Placed]) -> None:
        failed: list[KafkaError] = []
        for topic, partition, value in records:
            self._producer.produce(
                topic,
                value,
                partition=partition,
                on_delivery=lambda error, _: failed.append(error) if error is not None else None,
            )
        if self._producer.flush(PATIENCE_S):
            raise Unfinished("flush")
        if failed:
            raise Refused(failed[0].code(), failed[0].str())

    def commit(self) -> None:
        self._do(self._producer.commit_transaction, PATIENCE_S)

    def abort(self) -> None:
        self._do(self._producer.abort_transaction, PATIENCE_S)

    def copy(self, source: str, target: str, group: str, count: int, *, commit: bool) -> None:
        consumer = committed_consumer(self._bootstrap, group)
        consumer.subscribe([source])
        deadline = time.monotonic() + PATIENCE_S
        copied = 0
        try:
            while copied < count:
                if time.monotonic() > deadline:
                    raise Unfinished("copy", range(copied))
                messages = consumer.consume(count, timeout=0.2)
                if not messages:
                    continue
                self.begin()
                for message in messages:
                    self._producer.produce(target, message.value(), partition=message.partition() or 0)
                ends = {m.partition() or 0: (m.offset() or 0) + 1 for m in messages}
                places = [TopicPartition(source, partition, end) for partition, end in ends.items()]
                self._do(
                    self._producer.send_offsets_to_transaction,
                    places,
                    consumer.consumer_group_metadata(),
                    PATIENCE_S,
                )
                self.commit() if commit else self.abort()
                copied += len(messages)
        finally:
            consumer.close()

    def close(self) -> None:
        del self._producer


class Transactions:
    _bootstrap: str

    def open_transactor(self, transactional_id: str, timeout_ms: int = 60_000) -> ConfluentTransactor:
        return ConfluentTransactor(self._bootstrap, transactional_id, timeout_ms)

    def read_committed(self, topic: str, partitions: Sequence[int], count: int) -> list[tuple[int, str]]:
        consumer = committed_consumer(self._bootstrap, "unused")
        # librdkafka waits half a second before it asks for an offset again whose leader it did not know.
        consumer.list_topics(topic, timeout=PATIENCE_S)
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in partitions])
        deadline = time.monotonic() + PATIENCE_S
        found: list[tuple[int, str]] = []
        try:
            while len(found) < count:
                if time.monotonic() > deadline:
                    raise Unfinished("read", found)
                for message in consumer.consume(count, timeout=0.2):
                    if (error := message.error()) is not None:
                        raise Refused(error.code(), error.str())
                    found.append((message.partition() or 0, (message.value() or b"").decode()))
        finally:
            consumer.close()
        return found

    def stable_end(self, topic: str, partition: int) -> int:
        """Where readers of committed records come to an end."""
        consumer = committed_consumer(self._bootstrap, "unused")
        try:
            return int(consumer.get_watermark_offsets(TopicPartition(topic, partition), PATIENCE_S)[1])
        finally:
            consumer.close()


def committed_consumer(bootstrap: str, group: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 100,
        }
    )
