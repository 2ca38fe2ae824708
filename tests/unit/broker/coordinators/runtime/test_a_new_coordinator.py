"""A new coordinator is its pure shard and one registration: here one that leases locks by name.

The runtime does the rest, on a real log: it loads the shard, serves it, answers once a decision is committed,
expires leases by the shard's timers, and hands everything to the next leader.
"""

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import pytest

from tests.rigs.virtual_time import run
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.timers import Timer, Timers
from tidelog.broker.coordinators.internal_topics import StateTopic
from tidelog.broker.coordinators.runtime.registration import Registration
from tidelog.broker.coordinators.runtime.runtime import CoordinatorRuntime
from tidelog.broker.coordinators.runtime.service import CoordinatorService
from tidelog.coordination.decision import ShardDecision, StateRecord
from tidelog.metadata.image.entities import PartitionImage, TopicImage
from tidelog.metadata.image.image import ClusterImage, ImageDelta
from tidelog.replication.partition import Durability, Partition
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk

# --- the whole coordinator


class LockAnswer(NamedTuple):
    error: ErrorCode
    owner: str = ""


class LockShard:
    """Leases locks by name: a lock belongs to its owner until its lease ends or the owner releases it."""

    def __init__(self, lease_seconds: float) -> None:
        self.owners: dict[str, str] = {}
        self._lease_seconds = lease_seconds
        self._timers: Timers[list[StateRecord]] = Timers()
        self._leases: dict[str, Timer[list[StateRecord]]] = {}

    def acquire(self, name: str, owner: str) -> ShardDecision[LockAnswer]:
        holder = self.owners.get(name)
        if holder is not None:
            error = ErrorCode.NONE if holder == owner else ErrorCode.CONCURRENT_TRANSACTIONS
            return ShardDecision.of(LockAnswer(error, holder), LockAnswer)
        record = StateRecord(name.encode(), owner.encode())
        return ShardDecision.of(LockAnswer(ErrorCode.NONE, owner), LockAnswer, [record])

    def replay(self, key: bytes, value: bytes | None) -> None:
        if value is None:
            self.owners.pop(key.decode(), None)
        else:
            self.owners[key.decode()] = value.decode()

    def on_loaded(self, now: float, now_ms: int) -> list[ShardDecision[None]]:
        for name in self.owners:
            self._start_lease(name, now)
        return []

    def apply(self, decision: ShardDecision[Any], now: float, now_ms: int) -> None:
        for key, value in decision.records:
            self.replay(key, value)
            if value is not None:
                self._start_lease(key.decode(), now)

    @property
    def next_deadline(self) -> float | None:
        return self._timers.next_deadline

    def tick(self, now: float, now_ms: int) -> ShardDecision[None] | None:
        while (timer := self._timers.pop_due(now)) is not None:
            records: list[StateRecord] = []
            timer.action(records)
            if records:
                return ShardDecision.of(None, lambda error: None, records)
        return None

    def take_notes(self) -> list[str]:
        return []

    def unload(self) -> None:
        for lease in self._leases.values():
            lease.cancel()

    def _start_lease(self, name: str, now: float) -> None:
        lease = self._leases.setdefault(name, self._timers.timer(partial(self._expire, name)))
        lease.start(now + self._lease_seconds)

    def _expire(self, name: str, records: list[StateRecord]) -> None:
        if name in self.owners:
            records.append(StateRecord(name.encode(), None))


LOCKS = "__locks"
KEY_TYPE = 9


def locks(lease_seconds: float = 30.0) -> Registration[LockShard]:
    return Registration(
        name="locks",
        key_type=KEY_TYPE,
        topic=LOCKS,
        new_topic=lambda: StateTopic(1, 3, lambda replicas: {"cleanup.policy": "compact"}),
        new_shard=lambda epoch: LockShard(lease_seconds),
    )


# --- a broker around the runtime: what it knows of the cluster, and one partition of the topic


class LoopClock:
    def now_ms(self) -> int:
        return int(self.monotonic() * 1000)

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


class Metadata:
    may_be_stale = False

    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.image = ClusterImage(brokers={1: None, 2: None})  # type: ignore[dict-item]


class Broker:
    def __init__(self, node_id: int, disk: MemoryDisk) -> None:
        self.metadata = Metadata(node_id)
        log = PartitionLog.open(disk, f"/{node_id}/__locks-0", LogConfig(compact=True), now_ms=0)
        self.partition = Partition(
            LOCKS,
            bytes(16),
            0,
            log,
            node_id=node_id,
            durability=Durability.FSYNC,
            min_insync_replicas=1,
            on_unsynced=lambda _: None,
        )
        ports: Any = {"clock": LoopClock(), "run_in_thread": self._run_in_thread}
        known: tuple[Any, ...] = self.metadata, self, None
        self.runtime = CoordinatorRuntime(*known, **ports)
        self.locks: CoordinatorService[LockShard] = self.runtime.register(locks())

    def __iter__(self) -> Iterator[Partition]:
        return iter((self.partition,))

    def current(self, topic_id: bytes, index: int) -> Partition:
        return self.partition

    async def _run_in_thread(self, job: Callable[[], Any]) -> Any:
        await asyncio.sleep(0.1)
        return job()

    def lead(self, leader: int, epoch: int) -> None:
        """The controller names a leader."""
        both = (1, 2)
        image = PartitionImage(0, both, (leader,), leader, leader_epoch=epoch, partition_epoch=epoch)
        topic = TopicImage(LOCKS, bytes(16), (image,))
        before = self.metadata.image
        after = self.metadata.image = ClusterImage(brokers=before.brokers, topics={LOCKS: topic})
        self.partition.apply(image, now=0.0)
        for service in self.runtime:
            service.on_change(ImageDelta(before, after, partitions_changed=((topic, image),)))

    def fetch_from(self, leader: "Broker") -> None:
        """Replicate the log of the leader."""
        self.sync()
        asked = self.partition.follower.fetch_position()
        fetched = leader.partition.log.read(0, 1 << 20, end=leader.partition.log.end)
        assert asked is not None
        assert fetched is not None
        self.partition.follower.follow(
            memoryview(bytearray(fetched.slice.read())),
            asked=asked,
            leader_high_watermark=leader.partition.high_watermark,
            leader_log_start=0,
            now_ms=0,
        )
        self.sync()

    def sync(self) -> None:
        """The disk has everything that is written: it is committed."""
        flush = self.partition.log.begin_flush()
        if flush is not None:
            flush.run()
            self.partition.log.finish_flush(flush)
        self.partition.advance()

    def acquire(self, name: str, owner: str) -> "LockAnswer | asyncio.Future[LockAnswer]":
        served = self.locks.of(name)
        return served.run_in_order(served.shard.acquire(name, owner), lambda answer: answer)

    async def acquired(self, name: str, owner: str) -> LockAnswer:
        answer = self.acquire(name, owner)
        self.sync()
        return await answer if isinstance(answer, asyncio.Future) else answer


@pytest.fixture
def disk() -> MemoryDisk:
    return MemoryDisk()


def test_it_is_found_by_its_key_type(disk: MemoryDisk) -> None:
    async def main() -> None:
        broker = Broker(1, disk)
        assert broker.runtime.by_key_type(KEY_TYPE) is broker.locks
        assert broker.runtime.by_key_type(KEY_TYPE + 1) is None
        assert not broker.locks.has_topic
        with pytest.raises(KafkaError) as refusal:
            broker.locks.of("a")
        assert refusal.value.code is ErrorCode.NOT_COORDINATOR
        broker.lead(1, epoch=1)
        assert (broker.locks.has_topic, broker.locks.leader_of("a")) == (True, 1)

    run(main())


def test_it_answers_once_a_decision_is_committed(disk: MemoryDisk) -> None:
    async def main() -> None:
        broker = Broker(1, disk)
        broker.lead(1, epoch=1)
        first, second = broker.acquire("a", "ann"), broker.acquire("a", "bob")
        await asyncio.sleep(1)
        assert isinstance(first, asyncio.Future)
        assert isinstance(second, asyncio.Future), "the refusal rests on a record that may still be lost"
        assert not first.done()
        assert not second.done()
        broker.sync()
        assert await first == (ErrorCode.NONE, "ann")
        assert await second == (ErrorCode.CONCURRENT_TRANSACTIONS, "ann")
        assert broker.acquire("a", "ann") == (ErrorCode.NONE, "ann"), "nothing to wait for"

    run(main())


def test_a_client_does_not_wait_for_ever(disk: MemoryDisk) -> None:
    async def main() -> None:
        broker = Broker(1, disk)
        broker.lead(1, epoch=1)
        first, second = broker.acquire("a", "ann"), broker.acquire("a", "bob")
        assert isinstance(first, asyncio.Future)
        assert isinstance(second, asyncio.Future)
        assert (await first).error is (await second).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert asyncio.get_running_loop().time() == pytest.approx(5.0)

    run(main())


def test_what_cannot_be_appended_did_not_happen(disk: MemoryDisk) -> None:
    async def main() -> None:
        broker = Broker(1, disk)
        broker.lead(1, epoch=1)
        broker.partition.min_insync_replicas = 2
        assert (await broker.acquired("a", "ann")).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert broker.locks.of("a").shard.owners == {}

    run(main())


def test_leases_expire_by_the_timers_of_the_shard(disk: MemoryDisk) -> None:
    async def main() -> None:
        broker = Broker(1, disk)
        broker.lead(1, epoch=1)
        await broker.acquired("a", "ann")
        await asyncio.sleep(29)
        assert (await broker.acquired("a", "bob")).owner == "ann"
        await asyncio.sleep(2)
        assert await broker.acquired("a", "bob") == (ErrorCode.NONE, "bob")

    run(main())


def test_the_timer_follows_the_earliest_deadline(disk: MemoryDisk) -> None:
    async def main() -> None:
        broker = Broker(1, disk)
        broker.lead(1, epoch=1)
        await broker.acquired("a", "ann")
        shard = broker.locks.of("a").shard
        shard._lease_seconds = 5
        await broker.acquired("b", "bob")
        await asyncio.sleep(6)
        assert shard.owners == {"a": "ann"}, "an earlier deadline moves the timer"
        shard._lease_seconds = 60
        await broker.acquired("c", "cid")
        await asyncio.sleep(25)
        assert shard.owners == {"c": "cid"}, "a later one leaves it where it is"
        await asyncio.sleep(36)
        assert shard.owners == {}, "and it is set again"

    run(main())


def test_it_loads_from_its_log_and_is_refused_until_then(disk: MemoryDisk) -> None:
    async def main() -> None:
        broker = Broker(1, disk)
        broker.lead(1, epoch=1)
        await broker.acquired("a", "ann")
        broker.lead(1, epoch=2)  # another broker may have led meanwhile
        with pytest.raises(KafkaError) as refusal:
            broker.locks.of("a")
        assert refusal.value.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        waiting = broker.locks.until_served("a")
        assert waiting is not None
        await waiting
        assert broker.locks.of("a").shard.owners == {"a": "ann"}
        await asyncio.sleep(31)
        assert broker.locks.of("a").shard.owners == {}, "the new coordinator's lease has ended"

    run(main())


def test_it_moves_with_the_leader(disk: MemoryDisk) -> None:
    async def main() -> None:
        old, new = Broker(1, disk), Broker(2, disk)
        for broker in (old, new):
            broker.lead(1, epoch=1)
        await old.acquired("a", "ann")
        new.fetch_from(old)
        lost = old.acquire("b", "ann")
        assert isinstance(lost, asyncio.Future)
        for broker in (old, new):
            broker.lead(2, epoch=2)
        assert (await lost).error is ErrorCode.NOT_COORDINATOR
        with pytest.raises(KafkaError) as refusal:
            old.locks.of("a")
        assert refusal.value.code is ErrorCode.NOT_COORDINATOR
        waiting = new.locks.until_served("a")
        assert waiting is not None
        await waiting
        assert (await new.acquired("a", "bob")).owner == "ann"
        assert (await new.acquired("b", "bob")).owner == "bob", "the old leader never committed its decision"
        await new.runtime.close()
        assert list(new.locks) == []

    run(main())
