"""Drives the Raft core: its clock, its disk and its messages; emits committed entries in order.

One task does everything in turn: handle what arrived, write and sync what the core wants to persist, and only
then send its messages. The core itself never waits for anything. While the disk is busy, heartbeats go on.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from tidelog.base.errors import ErrorCode, KafkaError, TidelogError
from tidelog.base.ids import Epoch, NodeId
from tidelog.base.ports import Clock
from tidelog.broker.controller.quorum_heartbeats import QuorumHeartbeats
from tidelog.broker.log_dirs.flusher import BUSY_SECONDS, RunInThread
from tidelog.metadata.store.store import QuorumStore
from tidelog.raft.core import Raft
from tidelog.raft.entries import Entry
from tidelog.raft.errors import ChangeRefused, NotLeader
from tidelog.raft.messages import Addressed, AnyMessage, AppendEntries
from tidelog.raft.ready import ReadTicket, Ready, Snapshot
from tidelog.storage.shortages import remedy

INBOX_MAX = 10_000
INBOX_BYTES_MAX = 64 << 20
"""Messages that wait while the disk is busy; Raft resends what is dropped."""

DISK_FULL_RETRY_SECONDS = 0.5
"""How often a write is retried after the disk was full."""

HAND_OVER_SECONDS = 1.0
HAND_OVER_LOOKS = 50

T = TypeVar("T")

log = logging.getLogger("tidelog.broker.quorum")


class CommitListener(Protocol):
    """Receives what the quorum has committed, in order."""

    def on_entries(self, entries: Sequence[tuple[int, Entry]]) -> None: ...

    def on_snapshot(self, snapshot: Snapshot) -> None: ...

    def on_role(self) -> None:
        """The leader, the term or this node's role may have changed."""
        ...


class Quorum:
    def __init__(
        self,
        raft: Raft,
        store: QuorumStore,
        *,
        clock: Clock,
        run_in_thread: RunInThread,
        send: Callable[[NodeId, list[AnyMessage]], None],
        committed: CommitListener,
    ) -> None:
        self.raft = raft
        self._store = store
        self._clock = clock
        self._run_in_thread = run_in_thread
        self._send = send
        self._committed = committed
        self._inbox: deque[Callable[[], None]] = deque()
        self._inbox_bytes = 0
        self._asked: dict[asyncio.Future[Any], None] = {}
        self._reads: dict[ReadTicket, asyncio.Future[int]] = {}
        self._awake = asyncio.Event()
        self._alarm: asyncio.TimerHandle | None = None
        self._heartbeats = QuorumHeartbeats(raft, clock, self._post)
        self._task: asyncio.Task[None] | None = None
        self.failure: Exception | None = None
        self.disk_full: KafkaError | None = None
        """Why metadata cannot be changed at the moment; None if it can."""
        self._other_leader: tuple[NodeId, Epoch] | None = None
        self._is_behind = False
        self._leader_commit: int | None = None

    @property
    def now(self) -> float:
        return self._clock.monotonic()

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name="quorum")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._task = None
        self._fail_callers()
        if self._alarm is not None:
            self._alarm.cancel()

    async def hand_over(self) -> None:
        """Transfers leadership before a shutdown, so that the other voters need not wait for an election
        timeout.

        Returns when the new leader is known and everything that this node proposed is committed.
        """
        if not self.raft.is_leader or len(self.raft.configuration.voters) < 2 or self.failure is not None:
            return
        try:
            await self.do(lambda: self.raft.transfer_leadership(None, self.now))
        except (ChangeRefused, NotLeader) as error:  # no voter can take over, or one has already
            log.info("leadership was not transferred: %s", error)
            return
        last = self.raft.last_index
        for _ in range(HAND_OVER_LOOKS):
            is_followed = not self.raft.is_leader and self.raft.leader_id is not None
            if is_followed and self.raft.commit_index >= last:
                return
            await asyncio.sleep(HAND_OVER_SECONDS / HAND_OVER_LOOKS)

    # Input: handled at the next turn of the task, never in the middle of a write

    def receive(self, message: AnyMessage, size: int = 0) -> None:
        """Takes a message of `size` bytes. A single message is taken at any size: else it could never
        arrive."""
        if len(self._inbox) < INBOX_MAX and (not self._inbox or self._inbox_bytes + size <= INBOX_BYTES_MAX):
            self._inbox_bytes += size
            self.soon(lambda: self.raft.step(message, self._clock.monotonic()))
            self._heartbeats.received(message)
            if self._is_behind and isinstance(message, AppendEntries):
                self._note_leader(message)

    def _note_leader(self, message: AppendEntries) -> None:
        """The core cannot handle it before the disk has space, but this broker must know the new leader."""
        self._leader_commit = max(message.commit, -1 if self._leader_commit is None else self._leader_commit)
        if self.disk_full is None:
            return
        if message.term > self.leader_term:
            self._other_leader = message.sender, message.term
            self._committed.on_role()

    def may_be_stale(self, applied: int) -> bool:
        """Whether the other voters may have committed entries that this node could not write yet."""
        if not self._is_behind:
            return False
        has_heard = self._leader_commit is not None and applied >= self._leader_commit
        if self.disk_full is None and (has_heard or self.raft.is_ready_leader):
            self._is_behind = False
        return self._is_behind

    @property
    def leader_id(self) -> NodeId | None:
        return self.raft.leader_id if self._other_leader is None else self._other_leader[0]

    @property
    def leader_term(self) -> Epoch:
        """The term in which `leader_id` leads."""
        return self.raft.term if self._other_leader is None else self._other_leader[1]

    def soon(self, work: Callable[[], None]) -> None:
        """Run `work` on the core in the next turn of the task."""
        self._inbox.append(work)
        self._awake.set()

    async def do(self, work: Callable[[], T]) -> T:
        """As `soon`, and returns the result; NotLeader if this node has left the quorum."""
        if self._task is None or self.failure is not None:
            raise _left_quorum()
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._asked[done] = None
        done.add_done_callback(lambda one: self._asked.pop(one, None))

        def job() -> None:
            if done.done():
                return
            try:
                done.set_result(work())
            except Exception as error:
                done.set_exception(error)

        self.soon(job)
        return await done

    def leave(self, error: KafkaError) -> None:
        """The disk of the metadata log is gone, even where writes to open files still succeed."""

        def fail() -> None:
            raise error

        self.soon(fail)

    async def confirm(self) -> int:
        """Returns the commit index, once a majority has confirmed that this node led at the time of the call.

        NotLeader if it did not lead, or if that is unknown.
        """

        def ask() -> "asyncio.Future[int]":
            ticket = self.raft.read_index(self.now)
            answered = self._reads[ticket] = asyncio.get_running_loop().create_future()
            self._asked[answered] = None
            answered.add_done_callback(lambda one: self._asked.pop(one, None))
            return answered

        return await (await self.do(ask))

    # The task

    async def _run(self) -> None:
        try:
            while True:
                self._take_in()
                ready = self.raft.ready()
                if ready is None:
                    self._committed.on_role()
                    await self._sleep()
                else:
                    await self._process(ready)
        except Exception as error:
            # A failed disk, or a bug: a node that cannot keep its promises must leave the quorum.
            log.critical("this broker leaves the metadata quorum: %s", error, exc_info=not _expected(error))
            self.failure = error
            self._committed.on_role()
            self._fail_callers()

    def _fail_callers(self) -> None:
        """The task has ended, or waits for the disk: no queued call will run."""
        for done in tuple(self._asked):
            if not done.done():
                done.set_exception(_left_quorum())

    def _take_in(self) -> None:
        self._awake.clear()
        inbox = self._inbox
        self._inbox_bytes = 0
        while inbox:
            work = inbox.popleft()
            work()
        now = self._clock.monotonic()
        if now >= self.raft.next_deadline:
            self.raft.tick(now)

    async def _sleep(self) -> None:
        delay = self.raft.next_deadline - self._clock.monotonic()
        if delay <= 0:
            await asyncio.sleep(0)
            return
        self._alarm = asyncio.get_running_loop().call_later(delay, self._awake.set)
        try:
            await self._awake.wait()
        finally:
            self._alarm.cancel()

    async def _process(self, ready: Ready) -> None:
        write = self._store.begin(ready, self._clock.now_ms())
        if write is not None:
            with self._heartbeats.during(ready):
                await self._in_thread(write.run)
                while self._store.must_wait(write):
                    await self._wait_for_space(write.error)
                    await self._in_thread(write.run)
            self._disk_has_space()
            self._store.finish(write)
        if ready.messages:
            self._post(ready.messages)
        self.raft.done(ready)
        if ready.install is not None:
            self._committed.on_snapshot(ready.install)
        self._committed.on_role()
        if ready.committed:
            self._committed.on_entries(ready.committed)
        for result in ready.reads:
            self._resolve_read(self._reads.pop(result.ticket), result.index)

    async def _wait_for_space(self, error: Exception | None) -> None:
        """A full disk is no reason to leave the quorum for good. But the other voters should go on without
        this node meanwhile, and no caller should wait for it."""
        self._heartbeats.end()
        if self.disk_full is None:
            log.critical("the metadata log cannot be written now, so metadata cannot change: %s", error)
            self.disk_full = KafkaError(
                ErrorCode.KAFKA_STORAGE_ERROR,
                f"the cluster's metadata cannot be written: {error}; {remedy(error)}",
            )
            self._is_behind = len(self.raft.configuration.voters) > 1 or not self.raft.is_voter
            self._committed.on_role()
        self._fail_callers()
        await asyncio.sleep(DISK_FULL_RETRY_SECONDS)

    def _disk_has_space(self) -> None:
        if self.disk_full is not None:
            self.disk_full = self._other_leader = None
            self._leader_commit = None  # wait for the current one
            log.warning("the metadata log can be written again")

    def _resolve_read(self, asked: "asyncio.Future[int]", index: int | None) -> None:
        if asked.done():
            return
        if index is None:
            asked.set_exception(NotLeader(self.raft.leader_id, "another node leads now"))
        else:
            asked.set_result(index)

    async def _in_thread(self, job: Callable[[], None]) -> None:
        while True:
            try:
                running = self._run_in_thread(job)
            except TidelogError as error:
                log.warning("the metadata log must wait for the disk: %s", error)
                await asyncio.sleep(BUSY_SECONDS)
                continue
            await running
            return

    def _post(self, messages: Sequence[Addressed]) -> None:
        by_peer: dict[NodeId, list[AnyMessage]] = {}
        for to, message in messages:
            by_peer.setdefault(to, []).append(message)
        for to, bundle in by_peer.items():
            self._send(to, bundle)


def _left_quorum() -> NotLeader:
    return NotLeader(None, "this broker has left the metadata quorum")


def _expected(error: Exception) -> bool:
    return isinstance(error, KafkaError)
