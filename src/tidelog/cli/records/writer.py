"""Sending records and keeping account of where they landed."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tidelog.base.units import size_text
from tidelog.cli.connection import Cluster
from tidelog.cli.exits import CliError
from tidelog.cli.output import print_json, print_json_line
from tidelog.cli.records.input import Outgoing
from tidelog.cli.topic.admin import topic_error

SHOWN_RECEIPTS = 10  # so few records are reported one by one without asking


@dataclass(slots=True)
class Landed:
    """What went to one partition."""

    records: int = 0
    first: int | None = None
    last: int | None = None

    def add(self, offset: int | None) -> None:
        self.records += 1
        if offset is not None:
            self.first = offset if self.first is None else min(self.first, offset)
            self.last = offset if self.last is None else max(self.last, offset)


class Writer:
    def __init__(
        self, cluster: Cluster, topic: str, *, acks: str, compression: str, idempotent: bool, receipts: bool
    ) -> None:
        self.session = cluster.session
        self.topic = topic
        self.acks = acks
        self.receipts = receipts
        self.partitions: dict[int, Landed] = {}
        self.bytes_sent = 0
        self.error: CliError | None = None
        self.failed = 0
        self._first_receipts: list[tuple[int, int | None]] = []
        self._began = time.monotonic()
        self._producer = cluster.producer(
            **{
                "acks": acks,
                "compression.type": compression,
                "enable.idempotence": idempotent,
                "partitioner": "murmur2_random",  # Java's hash, so keys land where other clients put them
                "message.timeout.ms": int(self.session.timeout_s * 1000),
                "message.max.bytes": 1_000_000_000,  # the broker's limit decides, not the client's
                "linger.ms": 5,
            }
        )

    def send(self, records: Iterable[Outgoing], *, flush_each: bool) -> None:
        try:
            for record in records:
                self._enqueue(record)
                if self.error:
                    break
                if flush_each:
                    self._producer.flush(self.session.timeout_s)
        finally:
            # Ctrl-C and bad input come here too: what was accepted is still sent.
            self._producer.flush(self.session.timeout_s + 5)

    def _enqueue(self, record: Outgoing) -> None:
        from confluent_kafka import KafkaException

        options: dict[str, Any] = {"headers": record.headers} if record.headers else {}
        if record.partition is not None:
            options["partition"] = record.partition
        if record.timestamp is not None:
            options["timestamp"] = record.timestamp
        while True:
            try:
                self._producer.produce(
                    self.topic, record.value, record.key, on_delivery=self._delivered, **options
                )
                break
            except BufferError:  # the local queue is full: let some of it go out first
                self._producer.poll(0.1)
            except KafkaException as error:
                self.error = self.error or topic_error(error.args[0], self.topic, self.session)
                self.failed += 1
                return
        self._producer.poll(0)

    def _delivered(self, error: Any, message: Any) -> None:
        if error is not None:
            self.failed += 1
            self.error = self.error or topic_error(error, self.topic, self.session)
            return
        offset = message.offset() if self.acks != "0" and message.offset() >= 0 else None
        partition = message.partition()
        self.partitions.setdefault(partition, Landed()).add(offset)
        self.bytes_sent += len(message.value() or b"") + len(message.key() or b"")
        if self.receipts:
            self._receipt(partition, offset)
        elif len(self._first_receipts) <= SHOWN_RECEIPTS:
            self._first_receipts.append((partition, offset))

    def _receipt(self, partition: int, offset: int | None) -> None:
        if self.session.json:
            print_json_line({"topic": self.topic, "partition": partition, "offset": offset})
        else:
            shown = "?" if offset is None else offset
            print(f"{self.topic}[{partition}] offset {shown}")

    def report(self) -> None:
        """The account of it all; raises the first error after that."""
        seconds = time.monotonic() - self._began
        records = sum(landed.records for landed in self.partitions.values())
        if self.session.json:
            if not self.receipts:
                print_json(self._as_json(records, seconds))
        elif records:
            self._summary(records, seconds)
        elif not self.error:
            print("Nothing to send: the input is empty.")
        if self.error:
            if records:
                self.error.message += f" ({records:,} records were written, {self.failed:,} were not.)"
            raise self.error

    def _as_json(self, records: int, seconds: float) -> dict[str, Any]:
        return {
            "topic": self.topic,
            "records": records,
            "failed": self.failed,
            "bytes": self.bytes_sent,
            "seconds": round(seconds, 3),
            "partitions": [
                {
                    "partition": partition,
                    "records": landed.records,
                    "first_offset": landed.first,
                    "last_offset": landed.last,
                }
                for partition, landed in sorted(self.partitions.items())
            ],
        }

    def _summary(self, records: int, seconds: float) -> None:
        if not self.receipts and records <= SHOWN_RECEIPTS:
            for partition, offset in self._first_receipts:
                self._receipt(partition, offset)
            return
        print(f"{records:,} records ({size_text(self.bytes_sent)}) to {self.topic} in {seconds:.2f} s")
        for partition, landed in sorted(self.partitions.items()):
            where = (
                "unknown offsets (acks 0)"
                if landed.first is None
                else f"offsets {landed.first} to {landed.last}"
            )
            print(f"  partition {partition}: {landed.records:,} records, {where}")
