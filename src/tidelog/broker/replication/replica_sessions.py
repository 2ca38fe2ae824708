"""What a leader remembers of each follower's fetches, so that a fetch costs what has changed and no more.

A follower names a partition when it wants it from another place; from then on the partition itself tells the
session when it has something for it. Partitions in which nothing happens cost nothing, however many they are.
"""

import asyncio
from collections.abc import Iterator
from typing import Protocol

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import ZERO_UUID, Epoch, NodeId
from tidelog.base.ports import Random
from tidelog.broker.requests.fetch_sessions import (
    EPOCH_MAX,
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_SESSION,
    PartitionKey,
    TopicKey,
)
from tidelog.replication.partition import Partition
from tidelog.wire.messages.fetch import FetchPartition, FetchRequest

SESSIONS_MAX = 2048
"""More than a cluster has brokers: followers that push out each other's sessions would have to name all that
they follow in each request."""
SESSIONS_PER_REPLICA_MAX = 4
TOPIC_IDS_SINCE = 13
EARLY_SECONDS = 0.001
"""Timers of some loops are exact to a millisecond, and may ring early."""

_ENDS = frozenset({INITIAL_EPOCH, FINAL_EPOCH})


class Waiting(Protocol):
    """A fetch that waits at the leader."""

    def on_bytes(self, count: int) -> None: ...

    def on_offsets(self) -> None:
        """There is something to tell that is not urgent."""
        ...

    def on_alarm(self, now: float) -> float | None:
        """Answer if it is time; else return when it will be."""
        ...

    def let_go(self) -> None:
        """Another request of the same session has come: answer with what there is, which is nothing."""
        ...


class FollowedPartition:
    """One partition of a follower's session."""

    __slots__ = (
        "_mark_watch",
        "asked",
        "is_answered",
        "is_named",
        "key",
        "partition",
        "sent_high_watermark",
        "sent_log_start",
        "session",
    )

    def __init__(self, session: "ReplicaSession", key: PartitionKey, asked: FetchPartition) -> None:
        self.session = session
        self.key = key
        self.asked = asked
        self.partition: Partition | None = None
        self.is_named = True
        """The follower has just said from where it wants it: that tells how far it is."""
        self.is_answered = False
        """It was given records or an error: nothing more before the follower says where it is then."""
        self.sent_high_watermark = -1
        self.sent_log_start = -1
        self._mark_watch = _MarkWatch(self)

    @property
    def topic(self) -> TopicKey:
        return self.key[0]

    def name(self, asked: FetchPartition) -> None:
        self.asked = asked
        self.is_named = True
        self.is_answered = False
        self.sent_high_watermark = -1  # the answer before may have come too late to count

    def watch(self, partition: Partition) -> None:
        if self.partition is not partition:
            self.unwatch()
            self.partition = partition
            partition.watchers.add_follower(self)
            partition.watchers.add(self._mark_watch)

    def unwatch(self) -> None:
        if self.partition is not None:
            self.partition.watchers.remove(self)
            self.partition.watchers.remove(self._mark_watch)
            self.partition = None

    @property
    def is_stale(self) -> bool:
        """Whether the follower has yet to hear of the newest offsets."""
        partition = self.partition
        return partition is not None and (
            partition.high_watermark != self.sent_high_watermark or partition.log.start != self.sent_log_start
        )

    def on_bytes(self, count: int) -> None:
        if not self.is_answered:
            session = self.session
            session.dirty[self] = None
            if session.waiting is not None:
                session.waiting.on_bytes(count)

    def on_mark(self) -> None:
        session = self.session
        session.stale[self] = None
        if session.waiting is not None:
            session.waiting.on_offsets()


class _MarkWatch:
    """Notified when the high watermark moves."""

    __slots__ = ("_followed",)

    def __init__(self, followed: FollowedPartition) -> None:
        self._followed = followed

    def on_bytes(self, count: int) -> None:
        self._followed.on_mark()


class ReplicaSession:
    __slots__ = (
        "_alarm",
        "_rings_at",
        "broker_epoch",
        "dirty",
        "epoch",
        "followed",
        "id",
        "replica_id",
        "stale",
        "sweep_size",
        "swept_at",
        "unswept",
        "uses_topic_ids",
        "waiting",
    )

    def __init__(self, id: int, replica_id: NodeId, broker_epoch: Epoch, uses_topic_ids: bool) -> None:
        self.id = id
        self.epoch = 1
        self.replica_id = replica_id
        self.broker_epoch = broker_epoch
        self.uses_topic_ids = uses_topic_ids
        self.followed: dict[PartitionKey, FollowedPartition] = {}
        self.dirty: dict[FollowedPartition, None] = {}
        """There may be records for the follower, or it must hear of an error; in the order of their turns."""
        self.stale: dict[FollowedPartition, None] = {}
        """There may be offsets that the follower has not heard of."""
        self.waiting: Waiting | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._rings_at = 0.0
        self.swept_at = float("-inf")
        self.unswept: list[FollowedPartition] = []  # of the sweep under way
        self.sweep_size = 0

    def take_in(self, request: FetchRequest) -> None:
        """What the request names and forgets."""
        for topic in request.forgotten_topics_data:
            name: TopicKey = topic.topic_id if self.uses_topic_ids else topic.topic
            for index in topic.partitions:
                self._forget((name, index))
        for key, asked in _named(request, self.uses_topic_ids):
            known = self.followed.get(key)
            if known is None:
                known = self.followed[key] = FollowedPartition(self, key, asked)
            else:
                known.name(asked)
            self.dirty[known] = None

    def _forget(self, key: PartitionKey) -> None:
        followed = self.followed.pop(key, None)
        if followed is not None:
            followed.unwatch()
            self.dirty.pop(followed, None)
            self.stale.pop(followed, None)

    def ring_by(self, moment: float, loop: asyncio.AbstractEventLoop) -> None:
        """Look at the fetch that waits then, by the loop's clock.

        One timer for all of a session's fetches, one after the other: mostly the answer comes first, and to
        set and cancel a timer for each would cost more than to ring in vain.
        """
        if self._alarm is not None:
            if self._rings_at <= moment:
                return
            self._alarm.cancel()
        self._rings_at = moment
        self._alarm = loop.call_at(moment, self._ring, loop)

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        self._alarm = None
        if self.waiting is not None:
            due = self.waiting.on_alarm(loop.time() + EARLY_SECONDS)
            if due is not None:
                self.ring_by(due, loop)

    def end(self) -> None:
        if self.waiting is not None:
            self.waiting.let_go()
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        for followed in self.followed.values():
            followed.unwatch()
        self.followed.clear()
        self.unswept.clear()
        self.dirty.clear()
        self.stale.clear()


class ReplicaSessions:
    """Apart from consumers' sessions, which come and go: these must not be pushed out by them."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._sessions: dict[int, ReplicaSession] = {}  # least recently used first

    def __len__(self) -> int:
        return len(self._sessions)

    def resume(
        self, request: FetchRequest, version: int, replica_id: NodeId, broker_epoch: Epoch
    ) -> ReplicaSession:
        """The session of this request, with what it names taken in. KafkaError: the follower starts anew.

        A session with the id 0 is for this request alone, and ends with its answer.
        """
        if request.session_epoch in _ENDS:
            self._end(request.session_id, replica_id)
            session = ReplicaSession(NO_SESSION, replica_id, broker_epoch, version >= TOPIC_IDS_SINCE)
            session.take_in(request)
            if request.session_epoch == INITIAL_EPOCH and version >= 7 and session.followed:
                self._keep(session)
            return session
        known = self._sessions.get(request.session_id)
        if known is None or known.replica_id != replica_id:
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if known.uses_topic_ids != (version >= TOPIC_IDS_SINCE):
            raise KafkaError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        if request.session_epoch != known.epoch:
            raise KafkaError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        self._sessions[known.id] = self._sessions.pop(known.id)
        known.epoch = known.epoch + 1 if known.epoch < EPOCH_MAX else 1
        known.broker_epoch = broker_epoch
        if known.waiting is not None:
            known.waiting.let_go()
        known.take_in(request)
        return known

    def _keep(self, session: ReplicaSession) -> None:
        of_replica = [one for one in self._sessions.values() if one.replica_id == session.replica_id]
        if len(of_replica) >= SESSIONS_PER_REPLICA_MAX:
            self._end(of_replica[0].id, session.replica_id)
        elif len(self._sessions) >= SESSIONS_MAX:
            oldest = next(iter(self._sessions.values()))
            self._end(oldest.id, oldest.replica_id)
        while session.id == NO_SESSION or session.id in self._sessions:
            session.id = self._random.below(2**31)
        self._sessions[session.id] = session

    def _end(self, session_id: int, replica_id: NodeId) -> None:
        session = self._sessions.get(session_id)
        if session is not None and session.replica_id == replica_id:
            del self._sessions[session_id]
            session.end()

    def end_all(self) -> None:
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            session.end()


def _named(request: FetchRequest, uses_topic_ids: bool) -> Iterator[tuple[PartitionKey, FetchPartition]]:
    for topic in request.topics:
        name: TopicKey = topic.topic_id if uses_topic_ids else topic.topic
        if name == ZERO_UUID:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
        for asked in topic.partitions:
            yield (name, asked.partition), asked
