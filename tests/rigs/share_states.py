"""Brokers with share coordinators on logs in memory, and the persister of each, on a network of calls."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from tests.rigs.shares import TOPIC, TOPIC_ID, LoopClock
from tidelog.base.config.config import load
from tidelog.base.errors import ErrorCode
from tidelog.broker.coordinators.runtime.runtime import CoordinatorRuntime
from tidelog.broker.coordinators.share_states import ShareStates
from tidelog.broker.handlers import load as handler_of
from tidelog.broker.requests.answer import response_of
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.context import Context
from tidelog.broker.shares.persister import SharePersister
from tidelog.broker.shares.state_messages import read_request
from tidelog.metadata.image.entities import PartitionImage, TopicImage
from tidelog.metadata.image.image import ClusterImage, ImageDelta
from tidelog.metadata.topics.names import SHARE_GROUP_STATE
from tidelog.replication.partition import Durability, Partition
from tidelog.shares.place import SharePlace, coordinator_key
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.apis import ApiKey
from tidelog.wire.codec import decode
from tidelog.wire.frame import read_request_header, read_response, write_request, write_response
from tidelog.wire.message import Message
from tidelog.wire.messages import initialize_share_group_state as initialize
from tidelog.wire.messages import read_share_group_state as read
from tidelog.wire.messages import write_share_group_state as write

GROUP = "workers"
PARTITIONS = 8
"""Of the topic that groups read."""
STATE_TOPIC_ID = bytes(15) + b"\x07"


class Call:
    """A request between brokers."""

    def __init__(self, source: int, target: int, key: ApiKey, request: Any) -> None:
        self.source, self.target, self.key, self.request = source, target, key, request

    @property
    def partitions(self) -> list[int]:
        return [data.partition for topic in self.request.topics for data in topic.partitions]


class StateBroker:
    def __init__(self, cluster: "StateCluster", node_id: int, settings: dict[str, str]) -> None:
        self.cluster = cluster
        self.node_id = node_id
        self.config: Any = load(flags=settings)
        self.may_be_stale = False
        self.image = ClusterImage(brokers={1: None, 2: None})  # type: ignore[dict-item]
        self.clock = LoopClock()
        disk = MemoryDisk()
        self.partitions = [
            Partition(
                SHARE_GROUP_STATE,
                STATE_TOPIC_ID,
                index,
                PartitionLog.open(disk, f"/state-{index}", LogConfig(), now_ms=0),
                node_id=node_id,
                durability=Durability.OS,
                min_insync_replicas=1,
                on_unsynced=lambda _: None,
            )
            for index in range(cluster.state_partitions)
        ]
        known: tuple[Any, ...] = self, self, self
        ports: Any = {"clock": self.clock, "run_in_thread": self._run_in_thread}
        self.runtime = CoordinatorRuntime(*known, **ports)
        self.states = ShareStates(self.runtime)
        peers: Any = SimpleNamespace(node_id=node_id, call=self._call)
        self.persister = SharePersister(self.states, peers)
        self.services: Any = SimpleNamespace(
            share_states=self.states, authorizer=None, inter_broker_listener="BROKERS"
        )

    # What the runtime asks of a broker

    def reachable_brokers(self, listener: str) -> list[Any]:
        return []

    def __iter__(self) -> Iterator[Partition]:
        return iter(self.partitions)

    def current(self, topic_id: bytes, index: int) -> Partition:
        return self.partitions[index]

    async def create(self, name: str, topic: Any) -> None:
        assert name == SHARE_GROUP_STATE
        self.cluster.lead(*[1] * self.cluster.state_partitions)

    async def _run_in_thread(self, job: Callable[[], Any]) -> Any:
        await asyncio.sleep(0.1)
        return job()

    def apply(self, image: ClusterImage, deleted: Sequence[TopicImage] = ()) -> None:
        before, self.image = self.image, image
        state = image.topics.get(SHARE_GROUP_STATE)
        changed = () if state is None else tuple((state, partition) for partition in state.partitions)
        for _, partition in changed:
            if partition.partition_epoch > self.partitions[partition.index].partition_epoch:
                self.partitions[partition.index].apply(partition, now=0.0)
        for service in self.runtime:
            service.on_change(
                ImageDelta(before, image, partitions_changed=changed, topics_deleted=tuple(deleted))
            )

    def copy(self, index: int = 0) -> None:
        """Fetch everything from the leader."""
        leader = self.cluster.brokers[3 - self.node_id].partitions[index]
        asked = self.partitions[index].follower.fetch_position()
        assert asked is not None
        start = max(leader.log.start, self.partitions[index].log.end)
        fetched = leader.log.read(start, 1 << 30, end=leader.log.end)
        self.partitions[index].follower.follow(
            memoryview(bytearray(b"" if fetched is None else fetched.slice.read())),
            asked=asked,
            leader_high_watermark=leader.high_watermark,
            leader_log_start=leader.log.start,
            now_ms=0,
        )

    # Requests between brokers

    async def _call(
        self,
        node_id: int,
        key: ApiKey,
        version: int,
        request: Message,
        *,
        timeout: float,  # noqa: ASYNC109
        lane: str,
    ) -> Any:
        target = self.cluster.brokers[node_id]
        self.cluster.calls.append(Call(self.node_id, node_id, key, request))
        frame = memoryview(b"".join(bytes(part) for part in write_request(key, version, 1, "n", request))[4:])  # type: ignore[arg-type]
        await asyncio.sleep(0.001)
        if self.cluster.failures:
            raise self.cluster.failures.pop(0)
        _, position = read_request_header(frame)
        received = decode(type(request), version, frame, position)
        context = Context(target.services, ClientConnection("192.0.2.1", 5, "BROKERS"), version, "n")
        response = await response_of(handler_of(key)(context, received))
        await asyncio.sleep(0.001)
        sent = b"".join(bytes(part) for part in write_response(key, version, 1, response))[4:]  # type: ignore[arg-type]
        return read_response(key, version, sent)[1]

    # Requests of a test

    async def initialize(self, *indexes: int, epoch: int = 1, start: int = 0) -> list[ErrorCode]:
        partitions = [
            initialize.PartitionData(partition=index, state_epoch=epoch, start_offset=start)
            for index in indexes
        ]
        response = await self.persister.initialize(
            initialize.InitializeShareGroupStateRequest(
                group_id=GROUP,
                topics=[initialize.InitializeStateData(topic_id=TOPIC_ID, partitions=partitions)],
            )
        )
        return [ErrorCode(one.error_code) for topic in response.results for one in topic.partitions]

    async def read(self, index: int, leader_epoch: int = 0) -> read.PartitionResult:
        """All parts of a state."""
        place, first = SharePlace(GROUP, TOPIC_ID, index), 0
        batches: list[read.StateBatch] = []
        while True:
            response = await self.persister.read(read_request(place, leader_epoch, first))
            part = response.results[0].partitions[0]
            batches += part.state_batches
            if (first := part.next_offset) < 0:
                part.state_batches = batches
                return part

    async def stored(self, index: int) -> list[tuple[int, int, int, int]]:
        return [
            (one.first_offset, one.last_offset, one.delivery_state, one.delivery_count)
            for one in (await self.read(index, -1)).state_batches
        ]

    async def write(
        self, index: int, *batches: tuple[int, int, int, int], leader_epoch: int = -1, start: int = 0
    ) -> ErrorCode:
        data = write.PartitionData(
            partition=index,
            state_epoch=1,
            leader_epoch=leader_epoch,
            start_offset=start,
            delivery_complete_count=0,
            state_batches=[
                write.StateBatch(
                    first_offset=first, last_offset=last, delivery_state=state, delivery_count=count
                )
                for first, last, state, count in batches
            ],
        )
        response = await self.persister.write(
            write.WriteShareGroupStateRequest(
                group_id=GROUP, topics=[write.WriteStateData(topic_id=TOPIC_ID, partitions=[data])]
            )
        )
        return ErrorCode(response.results[0].partitions[0].error_code)


class StateCluster:
    def __init__(self, *, state_partitions: int = 1, settings: dict[str, str] | None = None) -> None:
        self.state_partitions = state_partitions
        self.calls: list[Call] = []
        self.failures: list[OSError] = []
        """The next calls fail with these; whether the request was carried out, the caller cannot know."""
        self.brokers = {node: StateBroker(self, node, settings or {}) for node in (1, 2)}
        self._epoch = 0
        self._topics = {
            TOPIC: TopicImage(
                TOPIC, TOPIC_ID, tuple(PartitionImage(n, (1,), (1,), 1) for n in range(PARTITIONS))
            )
        }
        self._publish()

    def lead(self, *leaders: int) -> None:
        """Name the leader of each partition of the state topic; -1 for none."""
        self._epoch += 1
        self._topics[SHARE_GROUP_STATE] = TopicImage(
            SHARE_GROUP_STATE,
            STATE_TOPIC_ID,
            tuple(
                PartitionImage(
                    index,
                    (1, 2),
                    (leader,) if leader > 0 else (1,),
                    leader,
                    leader_epoch=self._epoch,
                    partition_epoch=self._epoch,
                )
                for index, leader in enumerate(leaders)
            ),
        )
        self._publish()

    def delete_topic(self) -> None:
        self._publish(deleted=[self._topics.pop(TOPIC)])

    def _publish(self, deleted: Sequence[TopicImage] = ()) -> None:
        for broker in self.brokers.values():
            broker.apply(
                ClusterImage(
                    brokers=broker.image.brokers,
                    topics=dict(self._topics),
                    topics_by_id={topic.id: topic for topic in self._topics.values()},
                ),
                deleted,
            )

    def home_of(self, index: int) -> int:
        """The partition of the state topic that holds the state of a partition."""
        return self.brokers[1].states.service.partition_of(
            coordinator_key(SharePlace(GROUP, TOPIC_ID, index))
        )
