"""A follower's side of a fetch session (KIP-227): the leader remembers, so a request names only changes.

Holds the partitions that the leader knows of, and the changes that the next request names. After a failure
it is unknown which requests reached the leader: `reset`, and the next request names every partition.
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


class FollowerFetchSession:
    __slots__ = ("_changed", "_epoch", "_forgotten", "_id", "_sent")

    def __init__(self) -> None:
        self._id = NO_SESSION
        self._epoch = INITIAL_EPOCH
        self._sent: dict[PartitionKey, FetchPartition] = {}
        self._changed: dict[PartitionKey, FetchPartition] = {}
        self._forgotten: dict[PartitionKey, None] = {}

    @property
    def is_empty(self) -> bool:
        """The next request would fetch no partition, named or not."""
        return not self._sent and not self._changed

    @property
    def has_changes(self) -> bool:
        return bool(self._changed or self._forgotten)

    @property
    def is_open(self) -> bool:
        """The leader has assigned an id, so a request may follow before the one before it is answered."""
        return self._id != NO_SESSION and self._epoch != INITIAL_EPOCH

    def want(self, key: PartitionKey, asked: FetchPartition) -> None:
        """Fetch this partition from now on, or go on at another offset."""
        self._forgotten.pop(key, None)
        self._changed[key] = asked

    def forget(self, key: PartitionKey) -> None:
        self._changed.pop(key, None)
        if self._sent.pop(key, None) is not None:
            self._forgotten[key] = None

    def asked(self, key: PartitionKey) -> FetchPartition | None:
        """Returns what was sent to the leader last; None if it does not know of the partition yet."""
        return self._sent.get(key)

    def fill(self, request: FetchRequest) -> None:
        """Put the changes into the request, which must then be sent."""
        self._sent.update(self._changed)
        request.session_id, request.session_epoch = self._id, self._epoch
        if self._epoch == INITIAL_EPOCH:
            request.topics = _by_topic(self._sent.items())
            self._forgotten.clear()
        else:
            request.topics = _by_topic(self._changed.items())
            if self._forgotten:
                request.forgotten_topics_data = _forgotten(self._forgotten)
                self._forgotten.clear()
            self._epoch = self._epoch + 1 if self._epoch < EPOCH_MAX else 1
        self._changed.clear()

    def accept(self, session_id: int) -> None:
        """A request was answered. Session 0: the leader keeps none, so every request names all partitions."""
        if self._epoch == INITIAL_EPOCH or session_id != self._id:
            self._id = session_id
            self._epoch = 1 if session_id != NO_SESSION else INITIAL_EPOCH

    def reset(self) -> None:
        """Begin a new session; the next request lets the leader drop the old one."""
        self._epoch = INITIAL_EPOCH

    def fill_last(self, request: FetchRequest) -> None:
        """Make this the request that ends the session."""
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
