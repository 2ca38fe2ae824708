"""What a redrive would do, or has done: letters by target, and those that stay, with the reason. Pure."""

from collections import Counter
from typing import Any

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.cli.queue.dead_letters.letter import Letter
from tidelog.clients.records import TopicPartition

DENIALS = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
"""The second comes in answer to the request for a producer id, which takes Write on any topic."""


class Tally:
    def __init__(self) -> None:
        self.fitting: Counter[tuple[str, TopicPartition]] = Counter()
        """By the topic that they come from, and the partition that they go to."""
        self.staying: Counter[str] = Counter()
        """By the reason."""
        self.passed_over = 0
        """Letters that do not fit the filter."""
        self.put_back = 0
        self.completed = 0
        """Of those, letters that an earlier redrive had begun to put back."""
        self.begun = 0
        """Letters of a redrive that still runs, or was interrupted; counted where nothing is executed."""
        self.unsure = 0
        """Letters of a redrive that was interrupted too long ago."""
        self.failures: list[str] = []
        self.denied: TopicPartition | None = None
        """Where copies were to go when the first was refused for want of a permission."""

    @property
    def total(self) -> int:
        return self.fitting.total()

    def count(self, letter: Letter, target: TopicPartition | str) -> None:
        if isinstance(target, str):
            self.staying[target] += 1
        else:
            self.fitting[letter.topic, target] += 1

    def fail(self, target: TopicPartition, error: KafkaError) -> None:
        failure = f"{target}: {error.message}"
        if self.denied is None and error.code in DENIALS:
            self.denied = target
        if failure not in self.failures:
            self.failures.append(failure)

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"source_topic": source, "topic": place.topic, "partition": place.partition, "letters": letters}
            for (source, place), letters in sorted(self.fitting.items())
        ]

    def as_json(self) -> dict[str, Any]:
        return {
            "letters": self.total,
            "targets": self.rows(),
            "put_back": self.put_back,
            "completed": self.completed,
            "passed_over": self.passed_over,
            "not_possible": dict(self.staying),
            "begun": self.begun,
            "unsure": self.unsure,
            "failures": self.failures,
        }
