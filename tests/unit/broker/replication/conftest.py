"""Brokers that do nothing but copy partitions from each other, on virtual time and disks in memory.

Requests travel as real frames; the controller is a word of the test.
"""

import asyncio
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from tests.rigs.log import NOW_MS
from tidelog.base.config.config import BrokerConfig, load
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Epoch, NodeId, Uuid
from tidelog.base.ports import Buffer
from tidelog.broker.peers.peers import Peers
from tidelog.broker.quota import ReplicationQuota
from tidelog.broker.replication.leader_fetcher import FetcherParts
from tidelog.broker.replication.replica_fetch import ReplicaFetches
from tidelog.broker.replication.replica_fetchers import ReplicaFetchers
from tidelog.broker.requests.answer import LateAnswer
from tidelog.metadata.image.entities import PartitionImage
from tidelog.replication.partition import Durability, Partition
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.apis import API, ApiKey
from tidelog.wire.codec import decode
from tidelog.wire.frame import read_request_header, write_response
from tidelog.wire.messages.fetch import FetchRequest, FetchResponse
from tidelog.wire.record import Record, read_records, write_batch

TOPIC_ID: Uuid = bytes(range(16))
DELAY_SECONDS = 0.001


class Clock:
    def now_ms(self) -> int:
        return NOW_MS + int(self.monotonic() * 1000)

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


class Counting:
    def __init__(self) -> None:
        self._next = itertools.count(1)

    def bytes(self, count: int) -> bytes:
        return bytes(count)

    def below(self, limit: int) -> int:
        return next(self._next) % limit


class Hosted:
    """The partitions of one broker."""

    def __init__(self) -> None:
        self.by_key: dict[tuple[Uuid, int], Partition] = {}
        self.checkpoints = 0
        self.disk_is_full = False

    def __iter__(self) -> Iterator[Partition]:
        return iter(list(self.by_key.values()))

    def find_any(self, topic: Uuid, index: int) -> Partition:
        found = self.by_key.get((topic, index))
        if found is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
        return found

    def checkpoint_now(self) -> bool:
        self.checkpoints += 1
        return not self.disk_is_full


class Wire:
    """A connection of the rig, with the delay of a network and the faults of the test."""

    def __init__(self, rig: "Rig", sender: NodeId, host: str) -> None:
        self._rig = rig
        self._pair = sender, NodeId(host)
        self._last: asyncio.Future[None] | None = None

    async def call(self, frame: Sequence[Buffer]) -> memoryview:
        data = memoryview(bytearray(b"".join(frame)))[4:]
        before, mine = self._last, asyncio.get_running_loop().create_future()
        self._last = mine
        try:
            await asyncio.sleep(DELAY_SECONDS)
            self._check()
            parts = await self._rig.serve(self._pair[1], data)
            if before is not None:
                await before  # answers come in order
            await asyncio.sleep(DELAY_SECONDS)
            self._check()
        finally:
            if not mine.done():
                mine.set_result(None)
        answer = b"".join(part if isinstance(part, (bytes, bytearray)) else part.read() for part in parts)
        return memoryview(answer)[4:]

    def send(self, frame: Sequence[Buffer]) -> None: ...

    def close(self) -> None: ...

    def _check(self) -> None:
        if self._pair in self._rig.cut or self._pair[::-1] in self._rig.cut:
            raise ConnectionError("the cable is cut")


class WireNetwork:
    def __init__(self, rig: "Rig", sender: NodeId) -> None:
        self._rig, self._sender = rig, sender

    def connect(self, host: str, port: int) -> Wire:
        return Wire(self._rig, self._sender, host)


class Broker:
    def __init__(self, rig: "Rig", node_id: NodeId) -> None:
        self.rig = rig
        self.node_id = node_id
        self.epoch: Epoch = 100 + node_id
        self.disk = MemoryDisk(node_id)
        self.hosted = Hosted()
        self.peers = Peers(WireNetwork(rig, node_id), node_id, lambda node: (str(node), 9092), lambda: 0)
        self.could_join: list[Partition] = []
        self.requests: list[FetchRequest] = []
        self.syncs = 0
        quota = {side: self._quota(side) for side in ("leader", "follower")}
        self.fetches = ReplicaFetches(
            self.hosted,  # type: ignore[arg-type]
            Clock(),
            Counting(),
            config=lambda: rig.config,
            quota=quota["leader"],
            may_join=self.could_join.append,
        )
        parts = FetcherParts(
            peers=self.peers,
            clock=Clock(),
            quota=quota["follower"],
            config=lambda: rig.config,
            broker_epoch=lambda: self.epoch,
            checkpoint_now=self.hosted.checkpoint_now,
        )
        self.fetchers = ReplicaFetchers(
            parts,
            is_hosted=lambda p: self.hosted.by_key.get((p.topic_id, p.index)) is p,
        )

    def _quota(self, side: str) -> ReplicationQuota:
        rig = self.rig
        return ReplicationQuota(
            self.node_id,
            lambda: rig.config.int(f"{side}.replication.throttled.rate"),
            lambda _: rig.throttled.get(side),
            Clock().monotonic,
        )

    def sync(self, partition: Partition) -> None:
        """As the flusher: a moment later, everything that is written then."""
        loop = asyncio.get_running_loop()

        def run() -> None:
            flush = partition.log.begin_flush()
            if flush is not None:
                self.syncs += 1
                flush.run()
                partition.log.finish_flush(flush)
            partition.advance()

        loop.call_later(0.005, run)

    def host(self, index: int = 0, durability: Durability = Durability.OS) -> Partition:
        path = f"/data/orders-{index}"
        self.disk.make_dirs(path)
        log = PartitionLog.open(self.disk, path, LogConfig(), now_ms=NOW_MS, recovery_point=0)
        partition = Partition(
            "orders",
            TOPIC_ID,
            index,
            log,
            node_id=self.node_id,
            durability=durability,
            min_insync_replicas=1,
            on_unsynced=self.sync,
        )
        self.hosted.by_key[TOPIC_ID, index] = partition
        return partition

    def __getitem__(self, index: int) -> Partition:
        return self.hosted.by_key[TOPIC_ID, index]

    def produce(self, *values: bytes, index: int = 0) -> "asyncio.Future[KafkaError | None]":
        """Done when acks=all is: the future holds the error, or None."""
        done: asyncio.Future[KafkaError | None] = asyncio.get_running_loop().create_future()
        batch = write_batch([Record(n, NOW_MS, None, value, []) for n, value in enumerate(values)])
        produced = self[index].produce(memoryview(batch), all_replicas=True, now_ms=NOW_MS)
        if self[index].when_committed(produced.committed_at, done.set_result):
            done.set_result(None)
        return done

    def values(self, index: int = 0) -> list[bytes]:
        log, found = self[index].log, []
        offset = log.start
        while (read := log.read(offset, 1 << 20, end=log.end)) is not None:
            data = memoryview(read.slice.read())
            while data:
                size = 12 + int.from_bytes(data[8:12], "big")
                records = read_records(data[:size])
                found += [record.value for record in records if record.value is not None]
                offset = records[-1].offset + 1
                data = data[size:]
        return found


class Rig:
    def __init__(self, brokers: int = 3, **settings: str) -> None:
        self.settings = {"replica.fetch.backoff.ms": "200", **settings}
        self.config: BrokerConfig = load(flags=self.settings)
        self.throttled: dict[str, str] = {}
        self.cut: set[tuple[NodeId, NodeId]] = set()
        self.brokers = {id: Broker(self, id) for id in range(1, brokers + 1)}
        self.images: dict[int, PartitionImage] = {}
        self.answers: list[FetchResponse] = []
        self.alter: Callable[[NodeId, FetchResponse], FetchResponse] = lambda _, answer: answer

    def __getitem__(self, node_id: NodeId) -> Broker:
        return self.brokers[node_id]

    def configure(self, **settings: str) -> None:
        self.config = load(flags={**self.settings, **{k.replace("_", "."): v for k, v in settings.items()}})

    def create(self, partitions: int = 1, durability: Durability = Durability.OS) -> None:
        """So many more, led by broker 1, on all brokers."""
        for index in range(len(self.images), len(self.images) + partitions):
            for broker in self.brokers.values():
                broker.host(index, durability)
            nodes = tuple(self.brokers)
            self.images[index] = PartitionImage(index, nodes, nodes, 1)
        self.tell()

    def lead(
        self, leader: NodeId, *, index: int = 0, to: Sequence[NodeId] | None = None, **changes: Any
    ) -> None:
        """A new leader in a new epoch, of which only those in `to` hear for now."""
        image = self.images[index]
        values = {
            "leader": leader,
            "leader_epoch": image.leader_epoch + 1,
            "partition_epoch": image.partition_epoch + 1,
            **changes,
        }
        self.images[index] = PartitionImage(
            index,
            values.get("replicas", image.replicas),
            values.get("isr", image.isr),
            values["leader"],
            leader_epoch=values["leader_epoch"],
            partition_epoch=values["partition_epoch"],
        )
        self.tell(to)

    def tell(self, to: Sequence[NodeId] | None = None) -> None:
        now = asyncio.get_running_loop().time()
        for node_id in self.brokers if to is None else to:
            broker = self.brokers[node_id]
            for partition in broker.hosted:
                partition.apply(self.images[partition.index], now)
            broker.fetchers.on_roles(list(broker.hosted))

    async def serve(self, node_id: NodeId, frame: memoryview) -> list[Any]:
        header, position = read_request_header(frame)
        request = decode(API[header.api_key].request_class(), header.api_version, frame, position)
        assert header.api_key == ApiKey.FETCH
        assert isinstance(request, FetchRequest)
        assert request.replica_state is not None
        broker = self.brokers[node_id]
        broker.requests.append(request)
        state = request.replica_state
        answer = broker.fetches.handle(request, header.api_version, state.replica_id, state.replica_epoch)
        if isinstance(answer, LateAnswer):
            answer = await answer
        answer = self.alter(state.replica_id, answer)
        self.answers.append(answer)
        return write_response(header.api_key, header.api_version, header.correlation_id, answer)

    async def close(self) -> None:
        for broker in self.brokers.values():
            await broker.fetchers.close()
            broker.fetches.sessions.end_all()
            broker.peers.close()


@pytest.fixture
def make_rig() -> type[Rig]:
    return Rig
