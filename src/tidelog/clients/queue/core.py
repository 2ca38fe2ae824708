"""The whole of a queue's protocol without I/O: who leads what, what each broker is asked next, and when.

A shell asks `step` for each broker that it has a connection to, sends what comes out, and brings the answers.
Records are fetched only for free places of `prefetch`, and acknowledgements travel with the next fetch where
there is one soon.
"""

from collections.abc import Mapping
from typing import NamedTuple

from tidelog.base.errors import KafkaError
from tidelog.clients.queue.answers import AnswerReader
from tidelog.clients.queue.delivered import DeliveredRecords, PartitionKey
from tidelog.clients.queue.membership import Membership
from tidelog.clients.queue.session import BrokerSession
from tidelog.clients.queue.stock import JobStock
from tidelog.wire.message import Message as Request
from tidelog.wire.messages.share_acknowledge import ShareAcknowledgeResponse
from tidelog.wire.messages.share_fetch import ShareFetchResponse

WAIT_MS = 500
"""How long a broker may wait for records."""
WAIT_WHILE_HOLDING_MS = 100
"""The same while jobs of that broker are under way: their acknowledgements, and the answers to those that go
with the fetch, wait behind it."""
WAIT_MS_MIN = 10
LATE_S = 1.0
"""Beyond the time that a broker may take on purpose."""
ACKS_MAX = 5_000
"""In one request."""
LOOKS_PER_LOCK = 8


class NextRequest(NamedTuple):
    message: Request
    wait_ms: int
    """How long the broker may take on purpose."""


class QueueCore:
    def __init__(self, topic: str, group_id: str, *, prefetch: int, linger_s: float, extend_s: float) -> None:
        self.topic = topic
        self.membership = Membership(group_id, topic)
        self.stock = JobStock(topic, prefetch, extend_s)
        self.answers = AnswerReader(self.stock)
        self._linger_s = linger_s
        self._topic_id: bytes | None = None
        self._leaders: Mapping[int, int] = {}
        self.is_closing = False
        self.failure: KafkaError | None = None
        """What a broker refused for good."""

    @property
    def sessions(self) -> dict[int, BrokerSession]:
        return self.stock.sessions

    # Partitions and their leaders

    def lead(self, topic_id: bytes, leaders: Mapping[int, int]) -> None:
        """What the metadata says about the topic: the leader of each partition, -1 where there is none."""
        self._topic_id, self._leaders = topic_id, leaders
        self.answers.wants_metadata = False
        self.distribute()

    def distribute(self) -> None:
        """Give each session the assigned partitions that its broker leads."""
        of_nodes: dict[int, set[int]] = {}
        for topic_id, partition in self.membership.assignment:
            leader = self._leaders.get(partition, -1) if topic_id == self._topic_id else -1
            if leader < 0:
                self.answers.wants_metadata = True
            else:
                of_nodes.setdefault(leader, set()).add(partition)
        for node in of_nodes.keys() - self.sessions.keys():
            self.sessions[node] = BrokerSession(node, self.membership.group_id, self.membership.member_id)
        for node, session in self.sessions.items():
            session.wanted = frozenset(of_nodes.get(node, ()))

    # What to do next

    def step(self, node: int, now: float) -> NextRequest | float | None:
        """Returns a request; or the time until which there is none; or None where the session is over."""
        session = self.sessions.get(node)
        if session is None:
            return None
        if self.is_closing or not (session.wanted or session.held or session.acks.count):
            return self._last_step(session, now)
        if now < session.retry_at:
            return session.retry_at
        if self._topic_id is not None and session.topic_id != self._topic_id:
            self.stock.lose(session.end(), "the topic was deleted and created again.")
            session.topic_id = self._topic_id
        look_s = session.lock_s / LOOKS_PER_LOCK
        if session.held and now >= session.looked_at + look_s:
            self.stock.look_through(session, now)
        is_wanted = self.stock.is_wanted(now)
        if not is_wanted and self.stock.buffer:
            self.stock.release_buffer(now)
        if session.renewals.count:
            return self._send(session, session.acknowledge(renew=True), now)
        acks = session.acks
        if acks.count and acks.is_urgent:
            return self._send(session, session.acknowledge(), now)
        room = self._room(session, now) if is_wanted else 0
        if room:
            session.fetched_at = now
            wait_ms = self._wait_ms(session)
            return self._send(session, session.fetch(room, wait_ms), now, wait_ms)
        if acks.count:
            due = acks.since + self._linger_s
            if now >= due or acks.count >= ACKS_MAX:
                return self._send(session, session.acknowledge(), now)
            return due
        pause_until = now + WAIT_MS / 1000
        return min(pause_until, session.looked_at + look_s) if session.held else pause_until

    def _last_step(self, session: BrokerSession, now: float) -> NextRequest | None:
        if session.is_open:
            return self._send(session, session.acknowledge(is_last=True), now)
        if self.is_closing or not session.wanted:
            self.stock.lose(session.end(), "the queue was closed.")
            del self.sessions[session.node]
        return None

    @staticmethod
    def _send(session: BrokerSession, message: Request, now: float, wait_ms: int = 0) -> NextRequest:
        session.sent_at, session.late_at = now, now + wait_ms / 1000 + LATE_S
        return NextRequest(message, wait_ms)

    def _fetching(self) -> list[BrokerSession]:
        return [session for session in self.sessions.values() if session.wanted]

    def _room(self, session: BrokerSession, now: float) -> int:
        """How many records to fetch: none while the buffer is well filled."""
        room, ahead = self.stock.room(now), self.stock.ahead
        if room <= 0 or not session.wanted:
            return 0
        if self.stock.buffer and (2 * room < ahead or now < session.dry_until):
            return 0
        fetching = self._fetching()
        if ahead < len(fetching):  # by turns: the session that has waited longest comes first
            for other in fetching:
                if not other.reserved and other.retry_at <= now and other.fetched_at < session.fetched_at:
                    return 0
        return min(room, max(1, ahead // len(fetching)))

    def _wait_ms(self, session: BrokerSession) -> int:
        if self.stock.buffer:  # the application has enough to do, and its acknowledgements wait
            return WAIT_MS_MIN
        wait_ms = WAIT_WHILE_HOLDING_MS if session.held or session.acks.count else WAIT_MS
        brokers = len(self._fetching())
        if self.stock.ahead < brokers:
            wait_ms = max(WAIT_MS_MIN, wait_ms // brokers)
        return wait_ms

    # Answers

    def fetched(
        self,
        node: int,
        answer: ShareFetchResponse,
        delivered: Mapping[PartitionKey, DeliveredRecords],
        now: float,
    ) -> None:
        if self.is_closing:
            delivered = {}  # the last request releases them
        try:
            self.answers.fetched(self.sessions[node], answer, delivered, now)
        except KafkaError as error:
            self.failure = error

    def acknowledged(self, node: int, answer: ShareAcknowledgeResponse, now: float) -> None:
        try:
            self.answers.acknowledged(self.sessions[node], answer, now)
        except KafkaError as error:
            self.failure = error

    def disconnected(self, node: int, why: str, now: float) -> None:
        session = self.sessions.get(node)
        if session is not None:
            self.answers.lost(session, f"the connection to its broker broke: {why}.", now)
