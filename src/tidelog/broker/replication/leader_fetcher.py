"""Copies partitions from one leader: one request for all of them, the next as soon as it is answered.

The next request acknowledges what the last one brought, so nothing may come between an append and it.
While one waits at the leader for new records, a second one may follow with partitions to add; the leader
then lets go of the first.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
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
        self._copied: dict[PartitionKey, CopiedPartition] = {}
        self._truncated: list[CopiedPartition] = []  # and not written down yet
        self._put_off: dict[PartitionKey, CopiedPartition] = {}
        self._session = FollowerFetchSession()
        self._in_flight: deque[tuple[int, PeerCall]] = deque()
        self._next_number = 1  # of requests
        self._failures = 0
        self._closed_until = 0.0  # by the back-off after a failed request
        self._awake = asyncio.Event()
        self._alarm: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._copied)

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"fetch from {self._leader}")

    async def stop(self) -> None:
        """Close the session at the leader, if it answers quickly."""
        for _, call in self._in_flight:
            call.cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._alarm is not None:
            self._alarm.cancel()
        if self._session.is_open:
            request = self._new_request(wait_ms=0)
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
            self._awake.set()

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
            self._awake.set()
        elif copied.partition.follower.must_checkpoint:
            self._truncated.append(copied)
            self._awake.set()
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
        self._awake.set()

    # The loop

    @property
    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    async def _run(self) -> None:
        while True:
            try:
                while self._in_flight and self._in_flight[0][1].is_done:
                    await self._answered(*self._in_flight.popleft())
                self._awake.clear()  # what happened up to here is seen to below
                self._ask_again()
                self._checkpoint_truncated()
                self._send_what_may_be_sent()
            except Exception:
                log.exception("copying from broker %d failed; it begins anew", self._leader)
                self._failed("failed inside this broker")
                for copied in tuple(self._copied.values()):
                    self._retry_later(copied)
            await self._awake.wait()

    def _send_what_may_be_sent(self) -> None:
        wait = self._closed_until - self._now
        if wait > 0:
            self._wake_in(wait)
        elif not self._in_flight:
            if len(self._session):
                self._send()
        elif len(self._in_flight) == 1 and self._session.is_open and self._session.has_changes:
            self._send()

    def _send(self) -> None:
        config = self._parts.config()
        request = self._new_request(wait_ms=config.int("replica.fetch.wait.max.ms"))
        self._session.fill(request)
        number = self._next_number
        self._next_number += 1
        try:
            call = self._parts.peers.begin(
                self._leader,
                ApiKey.FETCH,
                VERSION,
                request,
                seconds=config.int("replica.socket.timeout.ms") / 1000,
                lane=LANE,
            )
        except OSError as error:
            self._failed(str(error))
            self._wake_in(self._closed_until - self._now)
            return
        self._in_flight.append((number, call))
        call.when_done(self._awake.set)

    def _new_request(self, *, wait_ms: int) -> FetchRequest:
        config = self._parts.config()
        return FetchRequest(
            replica_state=ReplicaState(
                replica_id=self._parts.peers.node_id, replica_epoch=self._parts.broker_epoch()
            ),
            max_wait_ms=wait_ms,
            min_bytes=config.int("replica.fetch.min.bytes"),
            max_bytes=config.int("replica.fetch.response.max.bytes"),
        )

    # Answers

    async def _answered(self, number: int, call: PeerCall) -> None:
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
                    await asyncio.sleep(0)

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
        self._alarm = asyncio.get_running_loop().call_later(max(seconds, 0), self._awake.set)

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
