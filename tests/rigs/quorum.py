"""A broker's metadata on a disk in memory: a quorum of one, without a network."""

import asyncio
from collections.abc import Callable
from typing import Any

from tidelog.base.config.config import BrokerConfig
from tidelog.base.ids import NodeId, Uuid
from tidelog.broker.controller.metadata_applier import MetadataApplier
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.controller.quorum import Quorum
from tidelog.metadata.store.store import QuorumStore
from tidelog.raft.core import Raft
from tidelog.raft.entries import Configuration, Voter
from tidelog.raft.messages import AnyMessage
from tidelog.raft.ready import Restored
from tidelog.raft.settings import RaftSettings
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk

STORAGE: Uuid = bytes(range(16))


class LoopClock:
    """The time of the running loop, which a test may make jump."""

    def now_ms(self) -> int:
        return 1_700_000_000_000 + int(1000 * self.monotonic())

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


class Dice:
    """A random source that never surprises."""

    def __init__(self) -> None:
        self._last = 0

    def bytes(self, count: int) -> bytes:
        self._last += 1
        return self._last.to_bytes(count, "big")

    def below(self, limit: int) -> int:
        return 0


def at_once(job: Callable[[], Any]) -> "asyncio.Future[Any]":
    """In place of a thread."""
    done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    try:
        done.set_result(job())
    except Exception as error:
        done.set_exception(error)
    return done


class QuorumRig:
    """`await rig.start()` on a running loop; then `rig.metadata` is that of an active controller.

    With more voters than this node nobody answers, so it never becomes one.
    """

    def __init__(
        self, disk: MemoryDisk | None = None, *, node_id: NodeId = 1, voters: tuple[NodeId, ...] = (1,)
    ) -> None:
        self.disk = disk or MemoryDisk()
        self.clock = LoopClock()
        self.random = Dice()
        self.sent: list[tuple[NodeId, list[AnyMessage]]] = []
        self.roles: list[bool] = []
        self._node_id = node_id
        self._voters = voters

    async def start(self) -> None:
        self.store = QuorumStore.open(self.disk, "/data/__cluster_metadata-0")
        self.applier = MetadataApplier(self.store, self.clock, at_once)
        self.applier.on_role_change = self.roles.append
        self.metadata = MetadataService(self.applier, BrokerConfig(), self._node_id)
        raft = Raft(
            node_id=self._node_id,
            storage_id=STORAGE,
            address="127.0.0.1:9092",
            restored=Restored(
                configuration=self.store.snapshot.configuration
                or Configuration(tuple(Voter(id, f"127.0.0.{id}:9092") for id in self._voters)),
                term=self.store.hard_state.term,
                voted_for=self.store.hard_state.voted_for,
                snapshot_index=self.store.snapshot.index,
                snapshot_term=self.store.snapshot.term,
                entries=self.store.entries,
            ),
            settings=RaftSettings(),
            random=self.random,
            now=self.clock.monotonic(),
            snapshot_source=self.store.read_snapshot,
        )
        self.quorum = Quorum(
            raft,
            self.store,
            clock=self.clock,
            run_in_thread=at_once,
            send=lambda to, messages: self.sent.append((to, messages)),
            committed=self.applier,
        )
        self.metadata.join(self.quorum)
        self.applier.start(self.quorum)
        self.quorum.start()
        if len(self._voters) == 1:
            await self._until_controller()

    async def _until_controller(self) -> None:
        while not self.metadata.is_controller:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.001)

    async def stop(self) -> None:
        await self.quorum.stop()
        await self.applier.stop()
        self.store.close()
