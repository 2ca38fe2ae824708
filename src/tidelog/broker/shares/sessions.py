"""Share sessions: a member of a share group names the partitions it reads of this broker once, then changes.

A session belongs to the connection of its last request, and ends with it: the manager then releases what the
member holds. Requests of a session carry an epoch that counts up, so a lost or repeated request is noticed.
There is no fetching without a session, so the number of sessions is limited instead of old ones evicted.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Uuid
from tidelog.groups.consumer.checks import NAME_CHARS_MAX
from tidelog.wire.messages import share_acknowledge, share_fetch

INITIAL_EPOCH = 0
FINAL_EPOCH = -1
EPOCH_MAX = 2**31 - 1

PARTITIONS_MAX = 200_000
"""Over all sessions: a session keeps them beyond the request."""

SharePartitionKey: TypeAlias = tuple[Uuid, int]
"""Topic id and partition."""

AckBatch: TypeAlias = share_fetch.AcknowledgementBatch | share_acknowledge.AcknowledgementBatch
AckBatches: TypeAlias = Sequence[AckBatch]


class ShareMember(NamedTuple):
    group_id: str
    member_id: str


class SharePlan(NamedTuple):
    """What a request acknowledges, and what it fetches after that."""

    member: ShareMember
    partitions: Sequence[SharePartitionKey]
    """Those to fetch from, the one that delivered last at the end. None in the last request of a session."""
    acknowledged: Mapping[SharePartitionKey, AckBatches]
    is_final: bool
    """The session is over with this request: what the member still holds is to be released."""


class ShareSession:
    __slots__ = ("connection_id", "epoch", "member", "partitions")

    def __init__(self, member: ShareMember, connection_id: int) -> None:
        self.member = member
        self.connection_id = connection_id
        self.epoch = 1
        self.partitions: dict[SharePartitionKey, None] = {}
        """In the order of service."""

    def advance(self) -> None:
        self.epoch = 1 if self.epoch == EPOCH_MAX else self.epoch + 1


class ShareSessions:
    def __init__(self, sessions_max: Callable[[], int]) -> None:
        self._sessions_max = sessions_max
        self._sessions: dict[ShareMember, ShareSession] = {}
        self._of_connections: dict[int, dict[ShareMember, None]] = {}
        self._of_groups: Counter[str] = Counter()
        self._remembered = 0

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def partitions_total(self) -> int:
        return self._remembered

    def plan(self, request: "share_fetch.ShareFetchRequest", connection_id: int) -> SharePlan:
        """KafkaError where the request does not fit its session; then nothing has changed."""
        member = _member(request.group_id, request.member_id)
        epoch = request.share_session_epoch
        acknowledged = _acknowledged(request.topics)
        named = [
            (topic.topic_id, part.partition_index) for topic in request.topics for part in topic.partitions
        ]
        if epoch == INITIAL_EPOCH:
            if acknowledged:
                raise KafkaError(
                    ErrorCode.INVALID_REQUEST, "The first request of a share session acknowledges no records."
                )
            session = self._begin(member, named, connection_id)
        elif epoch == FINAL_EPOCH:
            self._find(member)
            return SharePlan(member, (), acknowledged, is_final=True)
        else:
            session = self._find(member, epoch)
            self._move(session, connection_id)
            self._add(session, named)
            forgotten = (
                (topic.topic_id, index)
                for topic in request.forgotten_topics_data
                for index in topic.partitions
            )
            self._remove(session, forgotten)
            session.advance()
        return SharePlan(member, tuple(session.partitions), acknowledged, is_final=False)

    def plan_acknowledge(
        self, request: "share_acknowledge.ShareAcknowledgeRequest", connection_id: int
    ) -> SharePlan:
        member = _member(request.group_id, request.member_id)
        epoch = request.share_session_epoch
        acknowledged = _acknowledged(request.topics)
        if epoch == INITIAL_EPOCH:
            raise KafkaError(ErrorCode.INVALID_SHARE_SESSION_EPOCH, "A share session begins with a fetch.")
        if epoch == FINAL_EPOCH:
            self._find(member)
        else:
            session = self._find(member, epoch)
            self._move(session, connection_id)
            session.advance()
        return SharePlan(member, (), acknowledged, is_final=epoch == FINAL_EPOCH)

    def served(self, member: ShareMember, partition: SharePartitionKey) -> None:
        """The partition, with records or an error, goes to the end: a limit of either starves none."""
        session = self._sessions.get(member)
        if session is not None and partition in session.partitions:
            del session.partitions[partition]
            session.partitions[partition] = None

    def has_group(self, group_id: str) -> bool:
        """Whether a member of the group has a session here."""
        return group_id in self._of_groups

    def is_of(self, member: ShareMember, connection_id: int) -> bool:
        """Whether the member's session is that of this connection: a member may begin it anew on another."""
        session = self._sessions.get(member)
        return session is not None and session.connection_id == connection_id

    def close(self, member: ShareMember) -> None:
        session = self._sessions.pop(member, None)
        if session is None:
            return
        self._of_groups[member.group_id] -= 1
        if not self._of_groups[member.group_id]:
            del self._of_groups[member.group_id]
        self._remembered -= len(session.partitions)
        self._leave_connection(session)

    def close_connection(self, connection_id: int) -> list[ShareMember]:
        """The members whose sessions ended with that connection."""
        members = list(self._of_connections.get(connection_id, ()))
        for member in members:
            self.close(member)
        return members

    def _find(self, member: ShareMember, epoch: int | None = None) -> ShareSession:
        session = self._sessions.get(member)
        if session is None:
            raise KafkaError(
                ErrorCode.SHARE_SESSION_NOT_FOUND,
                f"Member {member.member_id} of group {member.group_id} has no share session at this broker: "
                "begin one with epoch 0.",
            )
        if epoch is not None and epoch != session.epoch:
            raise KafkaError(
                ErrorCode.INVALID_SHARE_SESSION_EPOCH,
                f"The share session expects epoch {session.epoch}, not {epoch}: begin a new one at 0.",
            )
        return session

    def _move(self, session: ShareSession, connection_id: int) -> None:
        """A member goes on with its session on another connection: from now on it ends with that one."""
        if session.connection_id != connection_id:
            self._leave_connection(session)
            session.connection_id = connection_id
            self._of_connections.setdefault(connection_id, {})[session.member] = None

    def _leave_connection(self, session: ShareSession) -> None:
        of_connection = self._of_connections.get(session.connection_id, {})
        of_connection.pop(session.member, None)
        if not of_connection:
            self._of_connections.pop(session.connection_id, None)

    def _begin(
        self, member: ShareMember, named: Sequence[SharePartitionKey], connection_id: int
    ) -> ShareSession:
        before = self._sessions.get(member)
        limit = self._sessions_max()
        if before is None and len(self._sessions) >= limit:
            raise KafkaError(
                ErrorCode.SHARE_SESSION_LIMIT_REACHED,
                f"This broker has {limit} share sessions, as many as group.share.max.share.sessions allows.",
            )
        freed = 0 if before is None else len(before.partitions)
        self._check_room(len(set(named)) - freed)
        self.close(member)
        session = self._sessions[member] = ShareSession(member, connection_id)
        self._of_groups[member.group_id] += 1
        self._of_connections.setdefault(connection_id, {})[member] = None
        self._add(session, named)
        return session

    def _add(self, session: ShareSession, named: Sequence[SharePartitionKey]) -> None:
        new = [key for key in dict.fromkeys(named) if key not in session.partitions]
        if new:
            self._check_room(len(new))
            session.partitions.update(dict.fromkeys(new))
            self._remembered += len(new)

    def _check_room(self, more: int) -> None:
        if self._remembered + more > PARTITIONS_MAX:
            raise KafkaError(
                ErrorCode.SHARE_SESSION_LIMIT_REACHED,
                f"The share sessions of this broker name {self._remembered} partitions already; the limit "
                f"is {PARTITIONS_MAX}.",
            )

    def _remove(self, session: ShareSession, forgotten: Iterable[SharePartitionKey]) -> None:
        for key in forgotten:
            if key in session.partitions:
                del session.partitions[key]
                self._remembered -= 1


def _member(group_id: str | None, member_id: str | None) -> ShareMember:
    if not group_id or len(group_id) > NAME_CHARS_MAX:  # as heartbeats refuse it
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Invalid group id in the request.")
    if not member_id or len(member_id) > 36:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Invalid member id in the request.")
    return ShareMember(group_id, member_id)


def _acknowledged(
    topics: "Sequence[share_fetch.FetchTopic | share_acknowledge.AcknowledgeTopic]",
) -> Mapping[SharePartitionKey, AckBatches]:
    found: dict[SharePartitionKey, list[AckBatch]] = {}
    for topic in topics:
        for part in topic.partitions:
            if part.acknowledgement_batches:  # a partition may be named more than once
                found.setdefault((topic.topic_id, part.partition_index), []).extend(
                    part.acknowledgement_batches
                )
    return found
