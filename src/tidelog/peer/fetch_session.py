"""A follower's side of a fetch session (KIP-227): the leader remembers, so a request names only changes.

Holds what the leader has been told and what it must still be told. After any failure nobody knows what
the leader has heard: `reset`, and the next request names everything again.
"""

from collections.abc import Iterable
from typing import TypeAlias

from tidelog.base.ids import Uuid
from tidelog.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic

NO_SESSION = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
EPOCH_MAX = 2**31 - 1

PartitionKey: TypeAlias = tuple[Uuid, int]


class FetchSession:
    __slots__ = ("_epoch", "_forgotten", "_id", "_told", "_untold")

    def __init__(self) -> None:
        self._id = NO_SESSION
        self._epoch = INITIAL_EPOCH
        self._told: dict[PartitionKey, FetchPartition] = {}
        self._untold: dict[PartitionKey, FetchPartition] = {}
        self._forgotten: dict[PartitionKey, None] = {}

    def __len__(self) -> int:
        """Partitions that the next request fetches, named or not."""
        return len(self._told) + sum(key not in self._told for key in self._untold)

    @property
    def has_news(self) -> bool:
        return bool(self._untold or self._forgotten)

    @property
    def is_open(self) -> bool:
        """The leader has given the session an id, so a request may follow before the last is answered."""
        return self._id != NO_SESSION and self._epoch != INITIAL_EPOCH

    def want(self, key: PartitionKey, asked: FetchPartition) -> None:
        """Fetch this partition from now on, or from another place than before."""
        self._forgotten.pop(key, None)
        self._untold[key] = asked

    def forget(self, key: PartitionKey) -> None:
        self._untold.pop(key, None)
        if self._told.pop(key, None) is not None:
            self._forgotten[key] = None

    def asked(self, key: PartitionKey) -> FetchPartition | None:
        """What the leader was told last; None where it does not fetch this for us, or not yet."""
        return self._told.get(key)

    def fill(self, request: FetchRequest) -> None:
        """Put what is to be told into the request, which must then be sent."""
        self._told.update(self._untold)
        request.session_id, request.session_epoch = self._id, self._epoch
        if self._epoch == INITIAL_EPOCH:
            request.topics = _by_topic(self._told.items())
        else:
            request.topics = _by_topic(self._untold.items())
            request.forgotten_topics_data = _forgotten(self._forgotten)
            self._epoch = self._epoch + 1 if self._epoch < EPOCH_MAX else 1
        self._untold.clear()
        self._forgotten.clear()

    def accept(self, session_id: int) -> None:
        """A request was answered. Session 0: the leader keeps none, so everything is named each time."""
        if self._epoch == INITIAL_EPOCH or session_id != self._id:
            self._id = session_id
            self._epoch = 1 if session_id != NO_SESSION else INITIAL_EPOCH

    def reset(self) -> None:
        """Begin anew; the leader may throw away what it remembers under the old id."""
        self._epoch = INITIAL_EPOCH

    def fill_last(self, request: FetchRequest) -> None:
        """The request that ends the session."""
        request.session_id, request.session_epoch = self._id, FINAL_EPOCH


def _by_topic(asked: Iterable[tuple[PartitionKey, FetchPartition]]) -> list[FetchTopic]:
    topics: dict[Uuid, FetchTopic] = {}
    for (topic_id, _), partition in asked:
        topic = topics.get(topic_id)
        if topic is None:
            topic = topics[topic_id] = FetchTopic(topic_id=topic_id)
        topic.partitions.append(partition)
    return list(topics.values())


def _forgotten(keys: Iterable[PartitionKey]) -> list[ForgottenTopic]:
    topics: dict[Uuid, ForgottenTopic] = {}
    for topic_id, index in keys:
        topic = topics.get(topic_id)
        if topic is None:
            topic = topics[topic_id] = ForgottenTopic(topic_id=topic_id)
        topic.partitions.append(index)
    return list(topics.values())
