"""Counts the traffic of a topic on this broker: plain integers, which a scrape of the metrics reads.

All partitions of a topic share an object that outlives them, so that the counters go on over changes of the
leader, and over a topic that is deleted and created again. Topics above the limit share one object: an
attacker, or an application with a topic for each user, must not fill the memory.
"""

from collections.abc import Iterator
from itertools import chain

TOPICS_MAX = 1_000
OTHERS = "(others)"
"""No topic can have this name."""


class TopicTraffic:
    __slots__ = (
        "copied_bytes",
        "received_bytes",
        "received_records",
        "refused_batches",
        "replicas",
        "sent_bytes",
        "topic",
    )

    def __init__(self, topic: str = OTHERS) -> None:
        self.topic = topic
        self.replicas = 0
        """Partitions of this broker that count here."""
        self.received_bytes = 0
        """Appended here as the leader."""
        self.received_records = 0
        """Of these, without the markers of transactions."""
        self.refused_batches = 0
        self.sent_bytes = 0
        """To consumers."""
        self.copied_bytes = 0
        """Appended here as a follower."""


class TrafficBook:
    """The traffic of every topic, under its name or among the others."""

    def __init__(self, topics_max: int = TOPICS_MAX) -> None:
        self._topics_max = topics_max
        self._by_topic: dict[str, TopicTraffic] = {}
        self.others = TopicTraffic()
        self._forgotten = TopicTraffic()

    def __iter__(self) -> Iterator[TopicTraffic]:
        """Those with a partition on this broker."""
        return iter([one for one in (*self._by_topic.values(), self.others) if one.replicas])

    def join(self, topic: str) -> TopicTraffic:
        """Returns the traffic that one more partition of this topic counts in."""
        traffic = self._by_topic.get(topic)
        if traffic is None:
            if len(self._by_topic) >= self._topics_max:
                self._forget_one()
            if len(self._by_topic) < self._topics_max:
                traffic = self._by_topic[topic] = TopicTraffic(topic)
            else:
                traffic = self.others
        traffic.replicas += 1
        return traffic

    def leave(self, traffic: TopicTraffic) -> None:
        traffic.replicas -= 1

    @property
    def received_bytes(self) -> int:
        return sum(one.received_bytes for one in self._all())

    @property
    def copied_bytes(self) -> int:
        return sum(one.copied_bytes for one in self._all())

    def _all(self) -> Iterator[TopicTraffic]:
        return chain(self._by_topic.values(), (self.others, self._forgotten))

    def _forget_one(self) -> None:
        """A topic that has left this broker makes room."""
        gone = next((one for one in self._by_topic.values() if not one.replicas), None)
        if gone is not None:
            del self._by_topic[gone.topic]
            self._forgotten.received_bytes += gone.received_bytes
            self._forgotten.copied_bytes += gone.copied_bytes
