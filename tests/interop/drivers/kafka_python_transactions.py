"""Transactions with kafka-python."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import kafka.errors
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata

from tests.interop.driver import PATIENCE_S, Refused, Unfinished
from tests.interop.transactor import Placed


class KafkaPythonTransactor:
    def __init__(self, bootstrap: str, transactional_id: str, timeout_ms: int) -> None:
        self._bootstrap = bootstrap
        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap,
            transactional_id=transactional_id,
            transaction_timeout_ms=timeout_ms,
            max_block_ms=int(PATIENCE_S * 1000),
        )
        self._do(self._producer.init_transactions)

    @staticmethod
    def _do(call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except kafka.errors.KafkaError as failure:
            raise Refused(getattr(failure, "errno", -1), failure) from failure

    def begin(self) -> None:
        self._do(self._producer.begin_transaction)

    def send(self, records: Iterable[Placed]) -> None:
        sent = [self._do(self._send_one, *record) for record in records]
        self._do(self._producer.flush, PATIENCE_S)
        for future in sent:
            self._do(future.get, PATIENCE_S)

    def _send_one(self, topic: str, partition: int, value: str) -> Any:
        return self._producer.send(topic, value.encode(), partition=partition)

    def commit(self) -> None:
        self._do(self._producer.commit_transaction)

    def abort(self) -> None:
        self._do(self._producer.abort_transaction)

    def copy(self, source: str, target: str, group: str, count: int, *, commit: bool) -> None:
        consumer = KafkaConsumer(source, group_id=group, **committed(self._bootstrap))
        deadline = time.monotonic() + PATIENCE_S
        copied = 0
        try:
            while copied < count:
                if time.monotonic() > deadline:
                    raise Unfinished("copy", range(copied))
                found = consumer.poll(timeout_ms=5000)  # cut short while it joins, it may hang
                if not found:
                    continue
                self.begin()
                for place, messages in found.items():
                    for message in messages:
                        self._producer.send(target, message.value, partition=place.partition)
                ends = {
                    place: OffsetAndMetadata(messages[-1].offset + 1, "", -1)
                    for place, messages in found.items()
                }
                self._do(self._producer.send_offsets_to_transaction, ends, consumer.group_metadata())
                self.commit() if commit else self.abort()
                copied += sum(map(len, found.values()))
        finally:
            consumer.close()

    def close(self) -> None:
        self._producer.close(timeout=0)


class Transactions:
    _bootstrap: str

    def open_transactor(self, transactional_id: str, timeout_ms: int = 60_000) -> KafkaPythonTransactor:
        return KafkaPythonTransactor(self._bootstrap, transactional_id, timeout_ms)

    def read_committed(self, topic: str, partitions: Sequence[int], count: int) -> list[tuple[int, str]]:
        consumer = KafkaConsumer(**committed(self._bootstrap))
        deadline = time.monotonic() + PATIENCE_S
        found: list[tuple[int, str]] = []
        try:
            consumer.assign([TopicPartition(topic, partition) for partition in partitions])
            while len(found) < count:
                if time.monotonic() > deadline:
                    raise Unfinished("read", found)
                for messages in consumer.poll(timeout_ms=200).values():
                    found += [(message.partition, message.value.decode()) for message in messages]
        finally:
            consumer.close()
        return found


def committed(bootstrap: str) -> dict[str, Any]:
    return {
        "bootstrap_servers": bootstrap,
        "isolation_level": "read_committed",
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
    }
