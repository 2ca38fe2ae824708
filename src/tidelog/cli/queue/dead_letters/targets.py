"""Where letters go back to: the partition they come from, or the same one of another topic. Pure.

What no topic would take is known before the claim: a claim whose copies are refused keeps its letters.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from tidelog.blocking.cluster import Topic
from tidelog.cli.queue.dead_letters.copies import fits
from tidelog.cli.queue.dead_letters.letter import Letter
from tidelog.clients.records import TopicPartition


class PutBackTo(NamedTuple):
    place: TopicPartition
    bytes_max: int
    """The largest batch that the topic takes."""


class Targets:
    def __init__(
        self,
        find_topic: Callable[[str], Topic | None],
        find_bytes_max: Callable[[str], int],
        *,
        dead_letter_topic: str,
        to: str | None = None,
    ) -> None:
        self._find_topic, self._find_bytes_max = cache(find_topic), cache(find_bytes_max)
        self._dead_letter_topic, self._to = dead_letter_topic, to

    def of(self, letter: Letter) -> PutBackTo | str:
        """Returns the target, or why the letter cannot be put back."""
        if not letter.has_record:
            return "it has no copy of its record, only the headers that say where the record was"
        name = self._to or letter.topic
        if name == self._dead_letter_topic:
            return f"{name} is the dead-letter topic itself"
        topic = self._find_topic(name)
        if topic is None:
            return f"the topic {name} does not exist"
        if topic.is_internal:
            return f"{name} is an internal topic, to which brokers alone write"
        if self._to is not None:
            partition = (letter.partition or 0) % len(topic.leaders)
        elif letter.partition is None or letter.partition not in topic.leaders:
            return f"the topic {name} does not have the partition that it comes from"
        else:
            partition = letter.partition
        bytes_max = self.bytes_max(name)
        if not fits(letter, bytes_max):
            return f"it is larger than {name} takes; its max.message.bytes is {bytes_max}"
        return PutBackTo(TopicPartition(name, partition), bytes_max)

    def bytes_max(self, topic: str) -> int:
        return self._find_bytes_max(topic)
