"""Clients that copy a topic in transactions while others feed it and read the copies; and the verdict.

The input has no gaps, so that of each of its partitions the copy must hold every offset once and in order:
what is missing was lost, what is there twice was copied though its transaction counted already.
"""

import random
import time
from collections.abc import Iterator
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tests.chaos.copiers import Copier, Told
from tests.chaos.java_copier import JavaCopier
from tests.chaos.log_ends import log_ends
from tests.chaos.process_cluster import PATIENCE_S, ProcessCluster
from tests.chaos.recorded_clients import Places, Record, RecordedConsumer, RecordedProducer
from tests.chaos.victim import wait_until
from tidelog.testing.checkers import check
from tidelog.testing.history import Completion, History, Operation

INPUT, OUTPUT, JOURNAL = "t", "copy", "journal"
GROUP = "copiers"

SETTINGS: dict[str, object] = {
    "transaction.state.log.num.partitions": 2,
    "offsets.topic.num.partitions": 2,
    "group.min.session.timeout.ms": 1000,
    "group.initial.rebalance.delay.ms": 0,
}
"""Of a cluster for it. A process that was killed is missed soon, so that others get its share."""


class CommittedReader(RecordedConsumer):
    """Reads what is committed; the end of a partition may be a marker, and so is no record."""

    def __init__(self, record: Record, servers: str, places: Places) -> None:
        super().__init__(
            record, servers, places, **{"isolation.level": "read_committed", "enable.partition.eof": True}
        )
        self.records = 0

    def _note_poll(self) -> None:
        self._poll.committed_only = True
        self.records += len(self._poll.read)
        super()._note_poll()

    def _take(self, message: Message) -> None:
        error = message.error()
        if error is not None and error.code() == KafkaError._PARTITION_EOF:
            self.positions[message.topic() or "", message.partition() or 0] = message.offset() or 0
        else:
            super()._take(message)


class TransactionalCrowd:
    def __init__(
        self,
        cluster: ProcessCluster,
        directory: Path,
        partitions: int,
        *,
        copiers: int = 2,
        java: bool = False,
        seed: object = 0,
    ) -> None:
        self.record = Record()
        self._cluster = cluster
        self._chance = random.Random(f"clients {seed}")
        servers = cluster.bootstrap_servers
        self._inputs = [(INPUT, index) for index in range(partitions)]
        self._outputs = [(topic, index) for topic in (OUTPUT, JOURNAL) for index in range(partitions)]
        self.producers = [RecordedProducer(self.record, servers, self._inputs, sends_per_second=40.0)]
        self.readers = [CommittedReader(self.record, servers, self._outputs)]
        directory.mkdir(parents=True, exist_ok=True)
        arguments: dict[str, object] = {
            "servers": servers,
            "group": GROUP,
            "input": INPUT,
            "output": OUTPUT,
            "journal": JOURNAL,
            "partitions": partitions,
        }
        self.copiers = [Copier(directory, f"copy-{number}", arguments) for number in range(copiers)]
        self.java_copiers = [JavaCopier(directory, servers, INPUT)] if java else []
        self._told: list[Told] = []
        self._verdict: list[str] = []

    def start(self) -> None:
        for client in (*self.producers, *self.readers, *self.processes):
            client.start()

    @property
    def processes(self) -> list[Copier]:
        return [*self.copiers, *self.java_copiers]

    def crash_one(self) -> None:
        self._chance.choice(self.processes).crash()

    def until_writing(self, records: int = 40, patience_s: float = PATIENCE_S) -> float:
        """So many more copies are read; how long that took."""
        began = time.monotonic()
        [reader] = self.readers
        goal = reader.records + records

        def is_there() -> bool:
            for copier in self.processes:
                copier.revive()
            return reader.records >= goal

        wait_until(
            is_there,
            lambda: (
                f"copies go on; {'; '.join(self._cluster.what_is_missing())}\n{self._cluster.log_tails()}\n"
                + "\n".join(self._last_words())
            ),
            patience_s,
        )
        return time.monotonic() - began

    def _last_words(self) -> Iterator[str]:
        for copier in self.copiers:
            for file in copier.files:
                yield f"-- {file.name}: " + file.read_text()[-1000:]

    def finish(self) -> None:
        """With a healed cluster: everything is copied, and all copies are read once more."""
        for producer in self.producers:
            producer.finish()
        ends = self._ends(self._inputs, "read_uncommitted")
        deadline = time.monotonic() + PATIENCE_S
        while (at := self._group_offsets()) != ends:
            for copier in self.copiers:
                copier.revive()
            if time.monotonic() > deadline:
                self.record.complain(GROUP, f"does not come to the end: {at} of {ends}")
                break
            time.sleep(0.1)
        for copier in self.copiers:
            copier.kill()
        self._told = [told for copier in self.copiers for told in copier.told()]
        ends = self._ends(self._outputs, "read_uncommitted")
        final = CommittedReader(self.record, self._cluster.bootstrap_servers, self._outputs)
        final.read_to(ends)
        final.start()
        final.join(PATIENCE_S)
        if final.is_alive():
            self.record.complain(final.name, f"read only to {final.positions} of {ends}")
        for reader in (*self.readers, final):
            reader.finish()
        self._verdict = list(self._wrong_copies(final.name))
        for copier in self.java_copiers:
            self._verdict += copier.wrong_copies(len(self._inputs))
            copier.kill()
        now = time.monotonic()
        self.record.add(Operation("final", "final", started=now, ended=now))

    def abandon(self) -> None:
        for client in (*self.producers, *self.readers):
            client.is_stopping.set()
        for copier in self.processes:
            copier.kill()

    def _consumer(self, group: str, isolation: str) -> Consumer:
        return Consumer(
            {
                "bootstrap.servers": self._cluster.bootstrap_servers,
                "group.id": group,
                "isolation.level": isolation,
                "log_level": 0,
            }
        )

    def _ends(self, places: Places, isolation: str) -> dict[tuple[str, int], int]:
        consumer = self._consumer("x", isolation)
        try:
            return log_ends(consumer, places)
        finally:
            consumer.close()

    def _group_offsets(self) -> dict[tuple[str, int], int]:
        """Nothing while there is nobody to ask."""
        consumer = self._consumer(GROUP, "read_committed")
        try:
            wanted = [TopicPartition(*place) for place in self._inputs]
            return {(one.topic, one.partition): one.offset for one in consumer.committed(wanted, PATIENCE_S)}
        except KafkaException:
            return {}
        finally:
            consumer.close()

    # The verdict

    @property
    def history(self) -> History:
        told = [operation for one in self._told for operation in one.operations]
        return History([*self.record.history, *told])

    def problems(self) -> list[str]:
        complaints = [text for told in self._told for text in told.complaints + told.fatal]
        return [*map(str, check(self.history)), *self.record.complaints, *complaints, *self._verdict]

    def _wrong_copies(self, reader: str) -> Iterator[str]:
        copied: dict[int, list[int]] = {index: [] for _, index in self._inputs}
        for operation in self.record.history:
            if operation.process == reader:
                for read in operation.read:
                    if read.partition.startswith(OUTPUT):
                        index, offset, _ = read.value.split(":")
                        copied[int(index)].append(int(offset))
        for (_, index), end in self._ends(self._inputs, "read_uncommitted").items():
            yield from wrong_order(copied[index], end, f"copies of {INPUT}-{index}")

    def count(self, outcome: Completion) -> int:
        """Of transactions, so far."""
        told = self._told or [one for copier in self.copiers for one in copier.told()]
        operations = [operation for one in told for operation in one.operations]
        return sum(one.kind == "txn" and one.outcome is outcome for one in operations)

    @property
    def longest_wait_s(self) -> float:
        return max(producer.longest_wait_s for producer in self.producers)

    def summary(self) -> str:
        lives = sum(len(copier.files) for copier in self.processes)
        hung = sum(copier.hung for copier in self.processes)
        return (
            f"{self.count(Completion.OK)} transactions committed, {self.count(Completion.FAIL)} aborted, "
            f"{self.count(Completion.INFO)} unknown; {self.readers[0].records} copies read, "
            f"{lives} processes copied, {hung} of them hung"
        )

    def save(self, directory: Path) -> Path:
        path = directory / "history.jsonl"
        self.history.save(path)
        return path


def wrong_order(found: list[int], end: int, what: str) -> Iterator[str]:
    """Each of 0, 1, … end - 1 once, in this order."""
    seen: set[int] = set()
    last = -1
    for offset in found:
        if offset in seen:
            yield f"{what}: {offset} is there twice"
        elif offset < last:
            yield f"{what}: {offset} comes after {last}"
        seen.add(offset)
        last = max(last, offset)
    if missing := sorted(set(range(end)) - seen):
        yield f"{what}: {len(missing)} of {end} are missing, {missing[:10]}"
