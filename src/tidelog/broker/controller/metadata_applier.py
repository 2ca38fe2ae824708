"""Applies committed entries to the image, in order, and notifies the parts of the broker of each change.

The quorum's task must never wait for a slow listener, such as one that opens a thousand logs: heartbeats
would stop, and with them the controller. So entries are queued here for a task of their own.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from tidelog.base.errors import ErrorCode, KafkaError, StorageError, TidelogError
from tidelog.base.ids import Epoch, NodeId, Offset
from tidelog.base.ports import Clock
from tidelog.broker.controller.quorum import Quorum
from tidelog.broker.log_dirs.flusher import BUSY_SECONDS, RunInThread
from tidelog.broker.turns import advance_in_turns
from tidelog.metadata.image.diff import diff
from tidelog.metadata.image.image import ClusterImage, ImageDelta
from tidelog.metadata.image.records import Record
from tidelog.metadata.store.entries.data import decoded_records
from tidelog.metadata.store.store import QuorumStore, decode_snapshot
from tidelog.raft.entries import Configuration, Entry, EntryKind
from tidelog.raft.ready import Snapshot

SUCCESSOR_SECONDS = 1.0
"""How long a former controller waits for its successor to commit what it had proposed."""

log = logging.getLogger("tidelog.broker.metadata")


class _Expected(NamedTuple):
    term: Epoch
    future: "asyncio.Future[None]"


class MetadataApplier:
    def __init__(self, store: QuorumStore, clock: Clock, run_in_thread: RunInThread) -> None:
        loaded = store.snapshot
        self.image: ClusterImage = loaded.image
        self.applied: Offset = loaded.index
        """The index of the newest entry that is in the image."""
        self.notify: Callable[[ImageDelta], Awaitable[None]] | None = None
        self.on_role_change: Callable[[bool], None] | None = None
        """Called with True when this broker becomes the active controller, with False when no longer."""
        self.on_disk_full: Callable[[KafkaError], None] | None = None
        """Called on the controller, when its disk is too full for a decision."""
        self.leader_id: NodeId | None = None
        self.leader_changes = 0
        self._last_leader: tuple[NodeId, Epoch] | None = None
        self.is_controller = False
        self.failure: Exception | None = None
        self.waiting_since: float | None = None
        """Since when the oldest entry waits to be applied; None while none does."""
        self._store = store
        self._clock = clock
        self._run_in_thread = run_in_thread
        self._term: Epoch = loaded.term
        self._configuration: Configuration | None = loaded.configuration
        self._queue: deque[tuple[int, Entry] | Snapshot] = deque()
        self._arrived = asyncio.Event()
        self._expected: dict[Offset, _Expected] = {}
        self._orphans: dict[Offset, _Expected] = {}
        """Proposed by this broker while it led: the new controller decides whether they are committed."""
        self._waiting: list[tuple[Offset, asyncio.Future[None]]] = []
        self._active_from: Offset | None = None
        self._task: asyncio.Task[None] | None = None
        self._quorum: Quorum | None = None

    def start(self, quorum: Quorum) -> None:
        self._quorum = quorum
        self._task = asyncio.get_running_loop().create_task(self._run(), name="metadata")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._abandon(KafkaError(ErrorCode.NOT_CONTROLLER, "The broker is stopping."))

    # From the quorum

    def on_entries(self, entries: Sequence[tuple[int, Entry]]) -> None:
        self._queue.extend(entries)
        self._note_arrival()

    def on_snapshot(self, snapshot: Snapshot) -> None:
        self._queue.append(snapshot)
        self._note_arrival()

    def _note_arrival(self) -> None:
        if self.waiting_since is None:
            self.waiting_since = self._clock.monotonic()
        self._arrived.set()

    def on_role(self) -> None:
        quorum = self._quorum
        if quorum is None:
            return
        raft = quorum.raft
        failed = quorum.failure or self.failure
        self.leader_id = None if failed else quorum.leader_id
        if self.leader_id is not None and (self.leader_id, quorum.leader_term) != self._last_leader:
            self._last_leader = self.leader_id, quorum.leader_term
            self.leader_changes += 1
        is_replaced = quorum.leader_id != raft.leader_id
        if failed or is_replaced or not raft.is_ready_leader:
            self._active_from = None
            if self.is_controller:
                self.is_controller = False
                log.info("this broker is no longer the controller")
                if self.on_role_change is not None:
                    self.on_role_change(False)
            if failed:
                self._abandon(failed if isinstance(failed, KafkaError) else _no_controller())
            elif is_replaced or not raft.is_leader:
                self._await_successor()
        elif quorum.disk_full is not None:
            if self.on_disk_full is not None:
                self.on_disk_full(quorum.disk_full)
        elif self._active_from is None:
            self._active_from = raft.commit_index
            self._arrived.set()

    # Waiting

    def expect(self, index: Offset, term: Epoch) -> "asyncio.Future[None]":
        """Done once the entry is applied and acted on; KafkaError if another entry took its place, or may
        have."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._expected[index] = _Expected(term, future)
        return future

    async def until(self, version: Offset) -> None:
        if self.applied < version:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((version, future))
            await future

    def _await_successor(self) -> None:
        """The next controller may commit what this one proposed: wait for that a while.

        Otherwise the client would retry, and learn that the topic exists already.
        """
        expected, self._expected = self._expected, {}
        for index, one in expected.items():
            self._orphans[index] = one
            asyncio.get_running_loop().call_later(SUCCESSOR_SECONDS, self._refuse, one, _no_controller())

    def _abandon(self, error: KafkaError) -> None:
        for one in (*self._expected.values(), *self._orphans.values()):
            self._refuse(one, error)
        self._expected, self._orphans = {}, {}

    @staticmethod
    def _refuse(one: _Expected, error: KafkaError) -> None:
        if not one.future.done():
            one.future.set_exception(error)

    # The task

    async def _run(self) -> None:
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            try:
                await self._apply_queue()
            except Exception as error:
                log.critical("applying the cluster's metadata failed", exc_info=True)
                self.failure = error
                self.on_role()
                return

    async def _apply_queue(self) -> None:
        queue = self._queue
        while queue:
            if isinstance(queue[0], Snapshot):
                await self._install(queue.popleft())  # type: ignore[arg-type]
                continue
            entries: list[tuple[int, Entry]] = []
            while queue and not isinstance(queue[0], Snapshot):
                entries.append(queue.popleft())  # type: ignore[arg-type]
            await self._apply(entries)
            await self._snapshot_if_due()
        self.waiting_since = None
        if self._active_from is not None and self.applied >= self._active_from and not self.is_controller:
            self.is_controller = True
            log.info("this broker is the controller now, in term %d", self._term)
            if self.on_role_change is not None:
                self.on_role_change(True)

    async def _apply(self, entries: Sequence[tuple[int, Entry]]) -> None:
        fresh = [(index, entry) for index, entry in entries if index > self.applied]
        if fresh:
            delta = await advance_in_turns(self.image, _records_of(fresh))
            self.applied, self._term = fresh[-1][0], fresh[-1][1].term
            for _, entry in fresh:
                if entry.kind is EntryKind.CONFIG:
                    self._configuration = Configuration.decode(entry.data)
            self.image = delta.after
            if self.notify is not None and not delta.is_empty:
                await self.notify(delta)
        for index, entry in entries:
            for awaited in (self._expected, self._orphans):
                self._complete(awaited.pop(index, None), entry)
        self._wake()

    def _complete(self, expected: _Expected | None, entry: Entry) -> None:
        if expected is None or expected.future.done():
            return
        if expected.term == entry.term:
            expected.future.set_result(None)
        else:
            self._refuse(
                expected, KafkaError(ErrorCode.NOT_CONTROLLER, "Another controller took over meanwhile.")
            )

    async def _install(self, snapshot: Snapshot) -> None:
        if snapshot.index <= self.applied:
            return
        try:
            image = decode_snapshot(snapshot.data).image
        except StorageError as error:
            raise StorageError(f"the controller sent a snapshot that cannot be read: {error}") from error
        delta = diff(self.image, image)
        self.image, self.applied, self._term = image, snapshot.index, snapshot.term
        self._configuration = snapshot.configuration
        if self.notify is not None:
            await self.notify(delta)
        self._wake()

    def _wake(self) -> None:
        still = []
        for version, future in self._waiting:
            if version > self.applied:
                still.append((version, future))
            elif not future.done():
                future.set_result(None)
        self._waiting = still

    async def _snapshot_if_due(self) -> None:
        index, quorum = self.applied, self._quorum
        if quorum is None:
            return
        # Before the first change of voters, the settings name them.
        configuration = self._configuration or quorum.raft.configuration_at(index)
        write = self._store.begin_snapshot(self.image, index, self._term, configuration, self._clock.now_ms())
        if write is None:
            return
        await self._in_thread(write.run)
        if self._store.finish_snapshot(write):
            quorum.soon(lambda: quorum.raft.compact(index))

    async def _in_thread(self, job: Callable[[], None]) -> None:
        """A snapshot can wait; a busy disk is no reason to stop."""
        while True:
            try:
                running = self._run_in_thread(job)
            except TidelogError as error:
                log.warning("a snapshot of the metadata must wait for the disk: %s", error)
                await asyncio.sleep(BUSY_SECONDS)
                continue
            await running
            return


def _records_of(entries: Sequence[tuple[int, Entry]]) -> Iterator[Record]:
    return chain.from_iterable(
        decoded_records(entry.data) for _, entry in entries if entry.kind is EntryKind.DATA
    )


def _no_controller() -> KafkaError:
    return KafkaError(ErrorCode.NOT_CONTROLLER, "This broker is no longer the controller.")
