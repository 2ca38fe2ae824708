"""The leader's side of replication: a follower's fetch acknowledges what it has, and takes what it misses.

Theory: a question that is also an answer
=========================================

There is no message "I have offset 99". A follower that asks for offset 100 has thereby said that it has
everything below, as durable as the topic demands. That saves a round trip for each append, and makes a read
request a promise that acknowledgements to producers rest on. So the leader has to ask of each fetch: a
promise about which log, by which process, and is it still true?

What can go wrong
-----------------
- *The same offset in another history.* Broker 2 led epoch 5 alone for a moment and wrote 98 and 99. Broker
  1 leads epoch 6, without these two, and has written its own 98 and 99. When broker 2 asks for 100, the
  number is right and two records are wrong. Counted, they are acknowledged on one disk.
- *A promise of a process that is gone.* Broker 2 restarts with an empty disk, and a fetch from its life
  before arrives late: "I have everything below 100".
- *Silence.* Fetch sessions (KIP-227) leave out each partition whose position has not changed. Silence must
  mean "as I said before", and nothing more: no higher offset, no other epoch.
- *A position that passed in flight.* The leader has sent 100 to 149. Until the follower speaks again it
  is unknown whether they arrived; to send more, or to count them, would be a guess.
- *A follower that waits for ever*, because the append that it waits for came just before it began to wait.

The rule
--------
1. A position counts if the follower names the current leader epoch, and if the last epoch in its log
   reaches at least that far in the leader's log. Otherwise the answer holds no records but the place where
   the logs part; the follower truncates there and asks again, and nothing of what it asked counts.
2. Fetches with a lower broker epoch than the highest seen from that follower are refused.
3. A named partition sets the position. Silence repeats it: it renews the time at which the follower was
   caught up, never the offset. And the leader epoch is checked again, since in another epoch the log may
   have other records at the same offset.
4. A partition that was given records or an error gets nothing more, and silence says nothing of it, until
   the follower names it again.
5. What a session has not been given stays marked, and the mark is removed only by a read. Each append and
   each change of role sets it. A fetch waits only after a read of all marked partitions found too little.

Why this is enough
------------------
One epoch has one leader, and that leader wrote each offset of the epoch once. If two logs both have offset
99 from epoch 5, they have the same record, and by induction the same records below (rule 1 held when each
was copied). So "same epoch up to here" means "same bytes up to here", and a position is a statement about
bytes. Rule 2, and the registration that the leader names when it proposes a follower, tie it to a process;
rules 3 and 4 keep it from growing by itself. As for waiting (5): reading and beginning to wait happen in
one turn of the event loop, and appends happen in other turns, so none can fall in between.

    offset           98    99    100
    leader 1, epoch  6     6            the leader's list of epochs: 5 ended at 98, 6 begins at 98
    broker 2, epoch  5     5            asks: offset 100, last epoch 5, leader epoch 6
                                        answer: epoch 5 ends at 98. Broker 2 truncates to 98, asks for 98, and
                                        only from then on counts, with position 98.

How it answers
--------------
At once, where there are records, an error or a place where logs part; else with the next append, at the end
of the loop's turn, so that all appends of a turn travel together. A new high watermark alone waits 20 ms:
on a busy leader the next records carry it at no cost. The first batch of an answer is always given, however
large, or no follower would get past it. An idle session costs the same for ten partitions as for thousands:
only those with a mark are looked at, and the time of silent ones is renewed once a second, some hundred at
a time.

`tests/unit/broker/replication/test_replica_fetch.py` shows rules 1 and 3 to 5,
`tests/unit/replication/test_isr.py` rule 2. `tests/sim/test_seeded_bugs.py` leaves rule 1 out (replicas then
differ), and lets a process join the in-sync set as the process that it was before (a committed record is
then missing in the set).
"""

from collections.abc import Callable
from functools import partial

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Epoch, NodeId
from tidelog.base.ports import Clock, Random
from tidelog.broker.log_dirs.hosted import HostedPartitions
from tidelog.broker.quota import ReplicationQuota
from tidelog.broker.replication.replica_sessions import FollowedPartition, ReplicaSession, ReplicaSessions
from tidelog.broker.replication.waiting_fetch import WaitingFetch
from tidelog.broker.requests.answer import LateAnswer
from tidelog.broker.requests.fetch_pass import FetchPass, by_topic
from tidelog.broker.requests.fetch_sessions import NO_SESSION
from tidelog.replication import refusals
from tidelog.replication.partition import Partition
from tidelog.replication.read_limit import LOG_END
from tidelog.wire.messages.fetch import (
    EpochEndOffset,
    FetchRequest,
    FetchResponse,
    PartitionData,
)

WAIT_MS_MAX = 60_000
SWEEP_SECONDS = 1.0
SWEEP_PARTITIONS = 200
"""How often it is noted, for partitions that are not named, that their follower is still there; and for how
many of them with one request, unless that would take too many requests."""
SWEEP_REQUESTS = 8


class ReplicaFetches:
    def __init__(
        self,
        partitions: HostedPartitions,
        clock: Clock,
        random: Random,
        *,
        config: Callable[[], BrokerConfig],
        quota: ReplicationQuota,
        may_join: Callable[[Partition], None],
    ) -> None:
        """`may_join` is called with a partition whose in-sync set a follower could join now."""
        self._partitions = partitions
        self._clock = clock
        self._config = config
        self._quota = quota
        self._may_join = may_join
        self.sessions = ReplicaSessions(random)
        self.sent_bytes = 0
        """Of records, to all followers."""

    def handle(
        self,
        request: FetchRequest,
        version: int,
        replica_id: NodeId,
        broker_epoch: Epoch,
        is_allowed: Callable[[], bool] | None = None,
    ) -> FetchResponse | LateAnswer[FetchResponse]:
        """`is_allowed` is asked after a wait: the sender may have lost its permission meanwhile."""
        try:
            session = self.sessions.resume(request, version, replica_id, broker_epoch)
        except KafkaError as error:
            return FetchResponse(error_code=error.code)
        self._sweep(session, self._clock.monotonic())
        reading = self._read(session, request)
        enough = reading.bytes_read >= request.min_bytes or reading.must_answer
        if enough or request.max_wait_ms <= 0 or not session.followed:
            return self._respond(session, reading)
        for followed, _ in reading.answers:  # too little: it is read again when there is more
            followed.is_answered = False
            session.dirty[followed] = None
        missing = request.min_bytes - reading.bytes_read
        seconds = min(request.max_wait_ms, WAIT_MS_MAX) / 1000
        finish = self._finish if is_allowed is None else partial(self._finish_if, is_allowed)
        session.waiting = waiting = WaitingFetch(session, request, missing, seconds, finish)
        if session.stale:
            waiting.on_offsets()
        return waiting.answer

    def _finish(self, session: ReplicaSession, request: FetchRequest) -> FetchResponse:
        return self._respond(session, self._read(session, request))

    def _finish_if(
        self, is_allowed: Callable[[], bool], session: ReplicaSession, request: FetchRequest
    ) -> FetchResponse:
        if is_allowed():
            return self._finish(session, request)
        if session.id == NO_SESSION:
            session.end()
        return FetchResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)

    # Reading

    def _read(self, session: ReplicaSession, request: FetchRequest) -> FetchPass[FollowedPartition]:
        bytes_max = min(request.max_bytes, self._config().int("fetch.max.bytes"))
        reading: FetchPass[FollowedPartition] = FetchPass(bytes_max, LOG_END)
        dirty, session.dirty = session.dirty, {}
        try:
            reading.run(dirty, self._read_one, self._refusal)
        except Exception:
            if session.id == NO_SESSION:  # no answer will end it
                session.end()
            raise
        return reading

    def _read_one(
        self, followed: FollowedPartition, reading: FetchPass[FollowedPartition]
    ) -> PartitionData | None:
        if followed.is_answered:
            return None
        session, asked = followed.session, followed.asked
        partition = self._partitions.find_any(*followed.key)
        self._check(partition, followed)
        followed.watch(partition)
        if followed.is_named:
            fork = partition.divergence(asked.last_fetched_epoch, asked.fetch_offset)
            if fork is not None:
                reading.must_answer = True
                followed.is_answered = True
                return PartitionData(
                    partition_index=followed.key[1],
                    high_watermark=-1,
                    records=b"",
                    diverging_epoch=EpochEndOffset(epoch=fork[0], end_offset=fork[1]),
                )
            followed.is_named = False
            self._note(partition, followed, self._clock.monotonic())
            if followed.is_stale:
                session.stale[followed] = None
        end = partition.log.end
        if asked.fetch_offset >= end:
            return None
        limited = self._is_limited(partition, session.replica_id)
        if limited and self._quota.is_exceeded():
            session.dirty[followed] = None  # next time
            return None
        answer = PartitionData(partition_index=followed.key[1], high_watermark=-1, records=b"")
        read = reading.read(partition, asked, end, answer)
        if read is None:
            session.dirty[followed] = None
            return None
        if limited:
            self._quota.record(read.slice.length)
        followed.is_answered = True
        return answer

    @staticmethod
    def _check(partition: Partition, followed: FollowedPartition) -> None:
        epoch = followed.asked.current_leader_epoch
        if partition.is_leader and epoch == partition.leader_epoch and epoch >= 0:
            return
        partition.check_leader()
        if epoch < 0:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "a follower that does not say whom it follows")
        partition.check_epoch(epoch)

    @staticmethod
    def _refusal(followed: FollowedPartition, error: KafkaError) -> PartitionData:
        answer = PartitionData(
            partition_index=followed.key[1], error_code=error.code, high_watermark=-1, records=b""
        )
        followed.is_answered = True
        partition = followed.partition
        if error.code is ErrorCode.OFFSET_OUT_OF_RANGE and partition is not None:
            # The bounds of the log, so that the follower need not ask for them first.
            answer.log_start_offset = partition.log.start
            answer.diverging_epoch = EpochEndOffset(
                epoch=partition.leader_epoch, end_offset=partition.log.end
            )
        followed.unwatch()
        return answer

    def _note(self, partition: Partition, followed: FollowedPartition, now: float) -> None:
        session, asked, leader = followed.session, followed.asked, partition.leader
        if leader is None:
            raise refusals.not_leader(partition)
        could_join = leader.follower_fetched(
            session.replica_id,
            session.broker_epoch,
            asked.fetch_offset,
            now,
            log_start=asked.log_start_offset,
        )
        if could_join:
            self._may_join(partition)

    def _is_limited(self, partition: Partition, replica_id: NodeId) -> bool:
        return replica_id not in partition.isr and self._quota.limits(partition.topic, partition.index)

    def _sweep(self, session: ReplicaSession, now: float) -> None:
        """A follower that has everything names nothing. That it asks again shows that it still has it."""
        if not session.unswept:
            if now - session.swept_at < SWEEP_SECONDS:
                return
            session.swept_at = now
            session.unswept = list(session.followed.values())
            session.sweep_size = max(SWEEP_PARTITIONS, len(session.unswept) // SWEEP_REQUESTS)
        batch = session.unswept[-session.sweep_size :]
        del session.unswept[-session.sweep_size :]
        for followed in batch:
            partition = followed.partition
            if partition is None or followed.is_named or followed.is_answered or followed in session.dirty:
                continue
            try:
                # In another epoch its log may have other records at the same place.
                self._check(partition, followed)
                self._note(partition, followed, now)
            except KafkaError:  # the next pass reports it
                followed.is_named = True
                session.dirty[followed] = None
            if followed.is_stale:
                session.stale[followed] = None

    # Answering

    def _respond(self, session: ReplicaSession, reading: FetchPass[FollowedPartition]) -> FetchResponse:
        answers = reading.answers
        self.sent_bytes += reading.bytes_read
        stale, session.stale = session.stale, {}
        for followed in stale:
            # A follower that was given something says first where it is then, and hears the rest after that.
            if followed.is_stale and not followed.is_answered:
                answers.append((followed, PartitionData(partition_index=followed.key[1], records=b"")))
        for followed, answer in answers:
            partition = followed.partition
            if partition is not None:
                answer.high_watermark = followed.sent_high_watermark = partition.high_watermark
                answer.last_stable_offset = partition.last_stable_offset
                answer.log_start_offset = followed.sent_log_start = partition.log.start
        responses = by_topic(answers)
        if session.id == NO_SESSION:
            session.end()
        return FetchResponse(session_id=session.id, responses=responses)
