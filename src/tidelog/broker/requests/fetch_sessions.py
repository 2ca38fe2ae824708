"""Incremental fetch sessions (KIP-227): a consumer names its partitions once, then only what changes.

The cache is bounded. A client that finds no slot gets responses without a session and
sends full requests, which is slower and never wrong.
"""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import ZERO_UUID, Uuid
from tidelog.base.ports import Clock, Random
from tidelog.wire.messages.fetch import FetchPartition, FetchRequest, PartitionData

NO_SESSION = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
EPOCH_MAX = 2**31 - 1

PARTITIONS_MAX = 200_000
"""Over all sessions: a session keeps them beyond the request, at some 350 bytes each."""

TopicKey: TypeAlias = str | Uuid  # the name up to version 12, the id from 13 on
PartitionKey: TypeAlias = tuple[TopicKey, int]

ReadPermit: TypeAlias = tuple[str, str, int]
"""Principal, host, and the version of the authorizer that allowed them to read."""


class Wanted:
    """One partition of a fetch, with what the last response of the session said about it."""

    __slots__ = ("permit", "request", "sent_high_watermark", "sent_log_start", "topic")

    def __init__(self, topic: TopicKey, request: FetchPartition) -> None:
        self.topic = topic
        self.request = request
        self.permit: ReadPermit | None = None
        """With which the topic may be read; valid while it is that of the plan."""
        self.sent_high_watermark = -1
        self.sent_log_start = -1

    def has_changed(self, answer: PartitionData) -> bool:
        """Returns whether an incremental response must include this partition."""
        changed = (
            answer.error_code != 0
            or bool(answer.records)
            or answer.high_watermark != self.sent_high_watermark
            or answer.log_start_offset != self.sent_log_start
            or answer.preferred_read_replica != -1
            or answer.diverging_epoch is not None
        )
        # An error is repeated until it is gone: the next response without one must count as a change.
        self.sent_high_watermark = answer.high_watermark if answer.error_code == 0 else -1
        self.sent_log_start = answer.log_start_offset
        return changed


class FetchPlan:
    """What one request fetches, in which order, and how its response is trimmed."""

    __slots__ = ("_permit", "incremental", "session", "wanted")

    def __init__(self, wanted: list[Wanted], session: "IncrementalSession | None", incremental: bool) -> None:
        self.wanted = wanted
        self.session = session
        self.incremental = incremental
        self._permit: ReadPermit | None = None

    def permit(self, principal: str, host: str, version: int) -> ReadPermit:
        """Returns one object for equal values, so that partitions can be compared with it by identity."""
        session, now = self.session, (principal, host, version)
        last = self._permit if session is None else session.permit
        if last == now:
            return last
        if session is None:
            self._permit = now
        else:
            session.permit = now
        return now

    @property
    def session_id(self) -> int:
        return self.session.id if self.session is not None else NO_SESSION

    def trim(self, answers: list[tuple[Wanted, PartitionData]]) -> Iterable[tuple[Wanted, PartitionData]]:
        """Returns the partitions that the response must include; without a session, all of them."""
        return answers if self.session is None else self._changed(self.session, answers)

    def _changed(
        self, session: "IncrementalSession", answers: list[tuple[Wanted, PartitionData]]
    ) -> Iterator[tuple[Wanted, PartitionData]]:
        for wanted, answer in answers:
            has_changed = wanted.has_changed(answer)
            if answer.records:
                session.move_to_end(wanted)
            if has_changed or not self.incremental:
                yield wanted, answer


class IncrementalSession:
    __slots__ = ("epoch", "id", "last_used", "owner", "partitions", "permit", "uses_topic_ids")

    def __init__(self, id: int, owner: str, uses_topic_ids: bool, now: float) -> None:
        self.id = id
        self.owner = owner
        self.permit: ReadPermit | None = None
        self.epoch = 1
        self.uses_topic_ids = uses_topic_ids
        self.last_used = now
        self.partitions: dict[PartitionKey, Wanted] = {}

    def want(self, wanted: Iterable[Wanted]) -> None:
        for new in wanted:
            key = (new.topic, new.request.partition)
            current = self.partitions.get(key)
            if current is None:
                self.partitions[key] = new
            else:
                current.request = new.request

    def move_to_end(self, wanted: Wanted) -> None:
        """Partitions that had data go last, so that a small `max_bytes` starves none."""
        key = (wanted.topic, wanted.request.partition)
        if key in self.partitions:
            self.partitions[key] = self.partitions.pop(key)


class FetchSessions:
    def __init__(self, clock: Clock, random: Random, *, slots: int, evict_after_ms: int) -> None:
        self._clock = clock
        self._random = random
        self._slots = slots
        self._evict_after = evict_after_ms / 1000
        self._sessions: dict[int, IncrementalSession] = {}  # least recently used first
        self._remembered = 0  # partitions over all of them

    def __len__(self) -> int:
        return len(self._sessions)

    def plan(self, request: FetchRequest, version: int, owner: str = "") -> FetchPlan:
        """Raises KafkaError if the session is unknown or out of step; the client then starts a new one.

        `owner` is the client's principal: a session of another principal is unknown, too.
        """
        named = list(_wanted(request, version))
        if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            if self._is_owned(request.session_id, owner):
                self._forget(request.session_id)
            session = None
            if request.session_epoch == INITIAL_EPOCH and version >= 7 and named:
                session = self._create(named, owner, uses_topic_ids=version >= 13)
            return FetchPlan(named, session, incremental=False)
        if not self._is_owned(request.session_id, owner):
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        return self._resume(request, version, named)

    def put_off(self, plan: FetchPlan) -> int:
        """Returns the session id of a response without partitions, after which the client asks again.

        A session that begins with this request ends with it: its first response must name all partitions.
        """
        if plan.incremental:
            return plan.session_id
        self._forget(plan.session_id)
        return NO_SESSION

    def _is_owned(self, session_id: int, owner: str) -> bool:
        session = self._sessions.get(session_id)
        return session is not None and session.owner == owner

    def _resume(self, request: FetchRequest, version: int, named: list[Wanted]) -> FetchPlan:
        session = self._sessions[request.session_id] = self._sessions.pop(request.session_id)
        if session.uses_topic_ids != (version >= 13):
            raise KafkaError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        if request.session_epoch != session.epoch:
            raise KafkaError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        session.epoch = session.epoch + 1 if session.epoch < EPOCH_MAX else 1
        session.last_used = self._clock.monotonic()
        before = len(session.partitions)
        for topic in request.forgotten_topics_data:
            key: TopicKey = topic.topic_id if version >= 13 else topic.topic
            for index in topic.partitions:
                session.partitions.pop((key, index), None)
        session.want(named)
        self._remembered += len(session.partitions) - before
        if self._remembered > PARTITIONS_MAX:
            self._forget(session.id)
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        return FetchPlan(list(session.partitions.values()), session, incremental=True)

    def _create(self, named: list[Wanted], owner: str, *, uses_topic_ids: bool) -> IncrementalSession | None:
        now = self._clock.monotonic()
        if len(self._sessions) >= self._slots and not self._evict(now):
            return None
        while self._remembered + len(named) > PARTITIONS_MAX:
            if not self._evict(now):
                return None
        id = NO_SESSION
        while id == NO_SESSION or id in self._sessions:
            id = self._random.below(2**31)
        session = self._sessions[id] = IncrementalSession(id, owner, uses_topic_ids, now)
        session.want(named)
        self._remembered += len(session.partitions)
        return session

    def _forget(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._remembered -= len(session.partitions)

    def _evict(self, now: float) -> bool:
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None or now - oldest.last_used < self._evict_after:
            return False
        self._forget(oldest.id)
        return True


def _wanted(request: FetchRequest, version: int) -> Iterator[Wanted]:
    for topic in request.topics:
        key: TopicKey = topic.topic_id if version >= 13 else topic.topic
        if version >= 13 and key == ZERO_UUID:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
        for partition in topic.partitions:
            yield Wanted(key, partition)
