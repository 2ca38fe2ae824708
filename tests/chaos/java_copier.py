"""The copier of Apache Kafka's own system tests, on the Java client: transactions of the second protocol.

It keeps the partition and the value of each record, aborts at random, and is killed and started like ours.
"""

import time
from collections.abc import Iterator
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from tests.chaos.copiers import Copier

OUTPUT, GROUP = "java-copy", "java-copiers"
CLASS = "org.apache.kafka.tools.TransactionalMessageCopier"
PATIENCE_S = 60.0


class JavaCopier(Copier):
    def __init__(self, directory: Path, servers: str, source: str) -> None:
        arguments: dict[str, object] = {
            "broker-list": servers,
            "input-topic": source,
            "input-partition": 0,  # wanted by its command line; as one of a group it reads all
            "output-topic": OUTPUT,
            "consumer-group": GROUP,
            "transaction-size": 20,
            "transaction-timeout": 30_000,
        }
        super().__init__(directory, "java-copier", arguments)
        self._servers, self._source = servers, source

    def command(self, name: str) -> list[str]:
        from tests.interop.kafka_jars import JVM, QUIET, classpath

        options = {**self._arguments, "transactional-id": self.id}
        texts = [text for key, value in options.items() for text in (f"--{key}", str(value))]
        modes = ["--group-mode", "--use-group-metadata", "--enable-random-aborts"]
        return [*JVM, "-Xmx128m", *QUIET, "-cp", classpath(), CLASS, *texts, *modes]

    def wrong_copies(self, partitions: int) -> Iterator[str]:
        """Once there is nothing more to copy."""
        for index in range(partitions):
            wanted = self._values(self._source, index)
            deadline = time.monotonic() + PATIENCE_S
            while (found := self._values(OUTPUT, index)) != wanted and time.monotonic() < deadline:
                self.revive()
                time.sleep(0.5)
            if found != wanted:
                same = next((n for n, (a, b) in enumerate(zip(found, wanted, strict=False)) if a != b), None)
                yield (
                    f"{OUTPUT}-{index} has {len(found)} records of {len(wanted)}, {len(set(found))} of them "
                    f"different; the first wrong one is at {same}: {found[same:][:3]} for {wanted[same:][:3]}"
                )

    def _values(self, topic: str, index: int) -> list[bytes | None]:
        """Of all committed records."""
        consumer = Consumer(
            {
                "bootstrap.servers": self._servers,
                "group.id": "reads java",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        consumer.assign([TopicPartition(topic, index, OFFSET_BEGINNING)])
        found: list[bytes | None] = []
        try:
            while True:
                message = consumer.poll(PATIENCE_S)
                if message is None:
                    return found
                if (error := message.error()) is None:
                    found.append(message.value())
                elif error.code() == KafkaError._PARTITION_EOF:
                    return found
                elif not error.retriable():
                    raise KafkaException(error)
        finally:
            consumer.close()
