"""Copies partitions from one leader: one request for all of them, the next as soon as it is answered.

The next request acknowledges what the last one brought, so nothing may come between an append and it.
While one waits at the leader for new records, a second one may follow with partitions to add; the leader
then lets go of the first.

There is no task: `_take_turn` does all that there is to do, and is called with each answer and after each
change. A quiet cluster has a round for each record, and to wake a task would cost a tenth of it.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Epoch, NodeId
from tidelog.base.ports import Clock
from tidelog.broker.peers.call import PeerCall
from tidelog.broker.peers.peers import Peers
from tidelog.broker.quota import ReplicationQuota
from tidelog.broker.replication.copied_partition import CopiedPartition, Next
from tidelog.replication.follower_fetch_session import FollowerFetchSession, PartitionKey
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.fetch import FetchRequest, FetchResponse, PartitionData, ReplicaState

VERSION = 17
LANE = "fetch"
FIRST_BACK_OFF_SECONDS = 0.05
QUOTA_SECONDS = 0.2
"""How often a partition that a quota holds back is looked at again."""
TURN_BYTES = 2 * 1024 * 1024
PARTITION_BYTES = 4 * 1024
"""What is appended before others get their turn on the loop, and what a partition costs besides its bytes."""
FAREWELL_SECONDS = 1.0
EARLY_SECONDS = 0.001
"""Timers of some loops are exact to a millisecond, and may ring early."""

log = logging.getLogger("tidelog.broker.followers")


@dataclass(slots=True)
class FetcherParts:
    """What every fetcher of a broker works with."""

    peers: Peers
    clock: Clock
    quota: ReplicationQuota
    config: Callable[[], BrokerConfig]
    broker_epoch: Callable[[], Epoch]
    checkpoint_now: Callable[[], bool]
    """Whether it was written: how far the logs are synced and where they start."""


class LeaderFetcher:
    def __init__(self, leader: NodeId, parts: FetcherParts) -> None:
        self._leader = leader
        self._parts = parts
        self._loop = asyncio.get_running_loop()  # to ask for it each time would be a system call each time
        self._copied: dict[PartitionKey, CopiedPartition] = {}
        self._truncated: list[CopiedPartition] = []  # and not written down yet
        self._put_off: dict[PartitionKey, CopiedPartition] = {}
        self._session = FollowerFetchSession()
        self._in_flight: deque[tuple[int, PeerCall]] = deque()
        self._next_number = 1  # of requests
        self._failures = 0
        self._closed_until = 0.0  # by the back-off after a failed request
        self._taking: Iterator[None] | None = None  # an answer that is larger than a turn
        self._is_awake = False  # a turn is about to come
        self._is_stopped = False
        self._alarm: asyncio.TimerHandle | None = None
        self._time_limit: asyncio.TimerHandle | None = None  # of the oldest request under way

    def __len__(self) -> int:
        return len(self._copied)

    async def stop(self) -> None:
        """Close the session at the leader, if it answers quickly."""
        self._is_stopped = True
        for _, call in self._in_flight:
            call.cancel()
        for timer in (self._alarm, self._time_limit):
            if timer is not None:
                timer.cancel()
        if self._session.is_open:
            request = self._new_request(self._parts.config(), wait_ms=0)
            self._session.fill_last(request)
            try:
                await self._parts.peers.call(
                    self._leader, ApiKey.FETCH, VERSION, request, timeout=FAREWELL_SECONDS, lane=LANE
                )
            except OSError as error:
                log.debug("the fetch session at broker %d could not be closed: %s", self._leader, error)

    # Partitions

    def add(self, copied: CopiedPartition) -> None:
        """In place of what was there for this partition before, under older metadata."""
        self._copied[copied.key] = copied
        self._put_off.pop(copied.key, None)
        self._session.forget(copied.key)
        self._ask(copied)

    def remove(self, key: PartitionKey) -> None:
        self._put_off.pop(key, None)
        if self._copied.pop(key, None) is not None:
            self._session.forget(key)
            self._wake()

    def _ask(self, copied: CopiedPartition) -> None:
        """From where the log ends now, once that is as durable as asking for more makes it seem."""
        if self._is_held_back(copied):
            self._hold_back(copied)
            return
        bytes_max = self._parts.config().int("replica.fetch.max.bytes")
        try:
            asked = copied.ask(bytes_max, self._next_number)
        except KafkaError as error:  # offline, or about to get another role
            log.debug("%s", error)
            self._retry_later(copied)
            return
        if asked is not None:
            self._session.want(copied.key, asked)
            self._wake()
        elif copied.partition.follower.must_checkpoint:
            self._truncated.append(copied)
            self._wake()
        else:
            # Out of the session meanwhile: the old position must not be asked for any more.
            self._session.forget(copied.key)
            if copied.partition.when_synced(partial(self._synced, copied)):
                self._retry_later(copied)  # it went offline this moment

    def _synced(self, copied: CopiedPartition) -> None:
        if self._copied.get(copied.key) is copied and copied.key not in self._put_off:
            self._ask(copied)

    def _retry_later(self, copied: CopiedPartition) -> None:
        self._session.forget(copied.key)
        seconds_max = self._parts.config().int("replica.fetch.backoff.ms") / 1000
        copied.put_off(self._now, seconds_max)
        self._put_off[copied.key] = copied
        self._wake()

    # The loop

    @property
    def _now(self) -> float:
        return self._loop.time()

    def _wake(self) -> None:
        if not self._is_awake:
            self._is_awake = True
            self._loop.call_soon(self._take_turn)

    def _take_turn(self) -> None:
        if self._is_stopped:
            return
        try:
            self._is_awake = True  # what the answers change is seen to below
            if not self._take_answers():
                self._loop.call_soon(self._take_turn)
                return
            self._is_awake = False
            self._ask_again()
            self._checkpoint_truncated()
            self._send_what_may_be_sent()
        except Exception:
            log.exception("copying from broker %d failed; it begins anew", self._leader)
            self._taking, self._is_awake = None, False
            self._failed("failed inside this broker")
            for copied in tuple(self._copied.values()):
                self._retry_later(copied)

    def _send_what_may_be_sent(self) -> None:
        wait = self._closed_until - self._now
        if wait > 0:
            self._wake_in(wait)
        elif not self._in_flight:
            if not self._session.is_empty:
                self._send()
        elif len(self._in_flight) == 1 and self._session.is_open and self._session.has_changes:
            self._send()

    def _send(self) -> None:
        config = self._parts.config()
        request = self._new_request(config, wait_ms=config.int("replica.fetch.wait.max.ms"))
        self._session.fill(request)
        number = self._next_number
        self._next_number += 1
        try:
            call = self._parts.peers.begin(
                self._leader,
                ApiKey.FETCH,
                VERSION,
                request,
                deadline=self._now + config.int("replica.socket.timeout.ms") / 1000,
                lane=LANE,
            )
        except OSError as error:
            self._failed(str(error))
            self._wake_in(self._closed_until - self._now)
            return
        self._in_flight.append((number, call))
        call.when_done(self._take_turn)
        if self._time_limit is None:
            self._time_limit = self._loop.call_at(call.deadline, self._give_up_late)

    def _give_up_late(self) -> None:
        """One timer for all requests, and not one for each: mostly it finds a request that is young."""
        self._time_limit = None
        now = self._now + EARLY_SECONDS
        for _, call in self._in_flight:
            if call.deadline > now:
                self._time_limit = self._loop.call_at(call.deadline, self._give_up_late)
                return
            call.give_up()

    def _new_request(self, config: BrokerConfig, *, wait_ms: int) -> FetchRequest:
        return FetchRequest(
            replica_state=ReplicaState(
                replica_id=self._parts.peers.node_id, replica_epoch=self._parts.broker_epoch()
            ),
            max_wait_ms=wait_ms,
            min_bytes=config.int("replica.fetch.min.bytes"),
            max_bytes=config.int("replica.fetch.response.max.bytes"),
        )

    # Answers

    def _take_answers(self) -> bool:
        """Append what has come. False: others have their turn first, and there is more."""
        while True:
            if self._taking is None:
                if not self._in_flight or not self._in_flight[0][1].is_done:
                    return True
                self._taking = self._answered(*self._in_flight.popleft())
            for _ in self._taking:
                return False
            self._taking = None

    def _answered(self, number: int, call: PeerCall) -> Iterator[None]:
        """Yields where others get their turn."""
        try:
            response: FetchResponse = call.result()
        except OSError as error:
            self._failed(str(error) or type(error).__name__)
            return
        if response.error_code:
            self._failed(ErrorCode.of(response.error_code).name)
            return
        self._failures = 0
        self._session.accept(response.session_id)
        appended = 0
        for topic in response.responses:
            for answer in topic.partitions:
                copied = self._copied.get((topic.topic_id, answer.partition_index))
                if copied is None or copied.asked_in > number or copied.key in self._put_off:
                    continue
                self._take(copied, answer)
                appended += PARTITION_BYTES + len(answer.records or b"")
                if appended >= TURN_BYTES:
                    appended = 0
                    self._checkpoint_truncated()
                    yield

    def _take(self, copied: CopiedPartition, answer: PartitionData) -> None:
        partition = copied.partition
        if answer.records and self._parts.quota.limits(partition.topic, partition.index):
            self._parts.quota.record(len(answer.records))
        todo = copied.take(answer, self._parts.clock.now_ms())
        if todo is Next.ASK:
            self._ask(copied)
        elif todo is Next.RETRY:
            self._retry_later(copied)

    def _checkpoint_truncated(self) -> None:
        """Before the loop turns: nothing can be appended to these logs until it is on the disk."""
        if not self._truncated:
            return
        truncated, self._truncated = self._truncated, []
        is_written = self._parts.checkpoint_now()
        for copied in truncated:
            if is_written:
                copied.partition.follower.checkpointed()
            if self._copied.get(copied.key) is not copied:
                continue
            if is_written:
                self._ask(copied)
            else:
                self._retry_later(copied)

    def _failed(self, why: str) -> None:
        """The leader may have got the request or not. All other requests under way fail as well."""
        seconds_max = self._parts.config().int("replica.fetch.backoff.ms") / 1000
        back_off = min(seconds_max, FIRST_BACK_OFF_SECONDS * 2 ** min(self._failures, 16))
        level = logging.INFO if self._failures == 3 else logging.DEBUG
        log.log(level, "copying from broker %d: %s; again in %g s", self._leader, why, back_off)
        self._failures += 1
        self._closed_until = self._now + back_off
        self._session.reset()

    # Waiting

    def _ask_again(self) -> None:
        """Those whose wait is over; the alarm rings for the next."""
        if not self._put_off:
            return
        now = self._now
        for copied in [c for c in self._put_off.values() if c.retry_at is None or c.retry_at <= now]:
            del self._put_off[copied.key]
            copied.retry_at = None
            self._ask(copied)
        if self._put_off:
            self._wake_in(min(c.retry_at or now for c in self._put_off.values()) - now)

    def _wake_in(self, seconds: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = self._loop.call_later(max(seconds, 0), self._wake)

    def _is_held_back(self, copied: CopiedPartition) -> bool:
        quota = self._parts.quota
        return (
            copied.is_behind
            and quota.limits(copied.partition.topic, copied.partition.index)
            and quota.is_exceeded()
        )

    def _hold_back(self, copied: CopiedPartition) -> None:
        self._session.forget(copied.key)
        copied.retry_at = self._now + QUOTA_SECONDS
        self._put_off[copied.key] = copied
        self._wake()
