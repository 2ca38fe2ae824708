"""Share partitions on a partition in memory, with a store and a clock that a test controls."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, TypeAlias

from msgspec.structs import replace

from tests.rigs.log import NOW_MS, open_log
from tests.rigs.partition import sole_leader
from tidelog.base.config.config import load
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import TimestampMs
from tidelog.base.ports import FileSlice
from tidelog.broker.handlers.shares.share_acknowledge import handle as handle_acknowledge
from tidelog.broker.handlers.shares.share_fetch import handle as handle_fetch
from tidelog.broker.requests.answer import response_of
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.context import Context
from tidelog.broker.shares.share_partitions import SharePartitions
from tidelog.metadata.image.entities import PartitionImage, TopicImage
from tidelog.metadata.image.image import SHARE_VERSION, ClusterImage, ImageDelta
from tidelog.replication.partition import Durability, Partition
from tidelog.shares.states import NO_START_OFFSET, AckType
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.batch import check_batches, iter_batches
from tidelog.wire.messages import read_share_group_state as read
from tidelog.wire.messages import share_acknowledge, share_fetch
from tidelog.wire.messages import write_share_group_state as write
from tidelog.wire.record import Record, read_records, write_batch

TOPIC_ID = bytes(range(16))
TOPIC = "jobs"
GROUP = "workers"


class LoopClock:
    """The clock of the running loop, which may be virtual."""

    def __init__(self) -> None:
        self.jumped_ms = 0

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def now_ms(self) -> TimestampMs:
        return NOW_MS + int(self.monotonic() * 1000) + self.jumped_ms


class FakeStore:
    """A persister in memory: keeps what was written, and fails on demand."""

    def __init__(self) -> None:
        self.start_offset = NO_START_OFFSET
        self.state_epoch = 0
        self.batches: list[read.StateBatch] = []
        self.writes: list[write.PartitionData] = []
        self.reads = 0
        self.errors: list[ErrorCode] = []
        """The next calls fail with these, first come first."""
        self.gate: asyncio.Event | None = None
        """Writes wait for it."""
        self.read_gates: dict[int, asyncio.Event] = {}
        """Reads of these partitions wait for them."""
        self.part_batches = 1 << 30
        """State batches in one part of a state."""
        self.before_read: Callable[[read.PartitionData], None] = lambda _: None

    async def read(self, request: read.ReadShareGroupStateRequest) -> read.ReadShareGroupStateResponse:
        await asyncio.sleep(0)
        self.reads += 1
        topic = request.topics[0]
        asked = topic.partitions[0]
        if (gate := self.read_gates.get(asked.partition)) is not None:
            await gate.wait()
        self.before_read(asked)
        result = read.PartitionResult(partition=asked.partition)
        if self.errors:
            result.error_code = self.errors.pop(0)
        else:
            result.start_offset, result.state_epoch = self.start_offset, self.state_epoch
            rest = [one for one in self.batches if one.last_offset >= asked.first_offset]
            result.state_batches = rest[: self.part_batches]
            if len(rest) > self.part_batches:
                result.next_offset = rest[self.part_batches].first_offset
        return read.ReadShareGroupStateResponse(
            results=[read.ReadStateResult(topic_id=topic.topic_id, partitions=[result])]
        )

    async def write(self, request: write.WriteShareGroupStateRequest) -> write.WriteShareGroupStateResponse:
        await asyncio.sleep(0)
        if self.gate is not None:
            await self.gate.wait()
        topic = request.topics[0]
        data = topic.partitions[0]
        result = write.PartitionResult(partition=data.partition)
        if self.errors:
            result.error_code = self.errors.pop(0)
        else:
            self.writes.append(data)
            self.start_offset = data.start_offset
        return write.WriteShareGroupStateResponse(
            results=[write.WriteStateResult(topic_id=topic.topic_id, partitions=[result])]
        )

    @property
    def saved(self) -> list[tuple[int, int, int, int]]:
        """First and last offset, state and delivery count of all batches that were written."""
        return [
            (one.first_offset, one.last_offset, one.delivery_state, one.delivery_count)
            for data in self.writes
            for one in data.state_batches
        ]


class Worker:
    """A member of the group with a connection and a share session of its own."""

    def __init__(self, rig: "ShareRig", name: str, connection_id: int) -> None:
        self._rig = rig
        self.name = name
        self.connection = ClientConnection("192.0.2.1", 5555, "PLAINTEXT", connection_id)
        self.epoch = 0
        self.context = Context(rig.services, self.connection, 2, "test")

    def fetch(self, **fields: Any) -> "Answer":
        """A request as clients send it; `acks` by partition, everything else as in the message."""
        acks: dict[int, list[AckSpec]] = fields.pop("acks", {})
        named = range(len(self._rig.partitions)) if self.epoch == 0 else sorted(acks)
        partitions = [
            share_fetch.FetchPartition(
                partition_index=index, acknowledgement_batches=_ack_batches(share_fetch, acks.get(index, []))
            )
            for index in named
        ]
        fields = {"max_records": 500, "max_bytes": 1 << 20, "min_bytes": 1, **fields}
        fields.setdefault("topics", [share_fetch.FetchTopic(topic_id=TOPIC_ID, partitions=partitions)])
        request = share_fetch.ShareFetchRequest(
            group_id=GROUP, member_id=self.name, share_session_epoch=fields.pop("epoch", self.epoch), **fields
        )
        self.epoch += 1
        return handle_fetch(self.context, request)

    async def take(self, **fields: Any) -> share_fetch.ShareFetchResponse:
        return await response_of(self.fetch(**fields))

    async def take_ranges(self, **fields: Any) -> list[tuple[int, int, int]]:
        """First and last offset and delivery count of what it got, of all partitions."""
        return ranges_in(await self.take(**fields))

    async def acknowledge(
        self, acks: dict[int, list["AckSpec"]], **fields: Any
    ) -> share_acknowledge.ShareAcknowledgeResponse:
        partitions = [
            share_acknowledge.AcknowledgePartition(
                partition_index=index, acknowledgement_batches=_ack_batches(share_acknowledge, batches)
            )
            for index, batches in acks.items()
        ]
        request = share_acknowledge.ShareAcknowledgeRequest(
            group_id=GROUP,
            member_id=self.name,
            share_session_epoch=fields.pop("epoch", self.epoch),
            topics=[
                share_acknowledge.AcknowledgeTopic(
                    topic_id=fields.pop("topic_id", TOPIC_ID), partitions=partitions
                )
            ],
            **fields,
        )
        self.epoch += 1
        return await response_of(handle_acknowledge(self.context, request))

    async def done(self, first: int, last: int | None = None, kind: int = AckType.ACCEPT) -> ErrorCode:
        """Acknowledge records of the first partition."""
        return ack_error(await self.acknowledge({0: [(first, first if last is None else last, [kind])]}))

    def disconnect(self) -> None:
        self.connection.closed()


AckSpec: TypeAlias = "tuple[int, int, list[int]] | tuple[int, int, list[int], int]"
Answer: TypeAlias = "share_fetch.ShareFetchResponse | asyncio.Future[share_fetch.ShareFetchResponse]"


def ranges_in(response: share_fetch.ShareFetchResponse) -> list[tuple[int, int, int]]:
    return [
        (one.first_offset, one.last_offset, one.delivery_count)
        for topic in response.responses
        for partition in topic.partitions
        for one in partition.acquired_records
    ]


def values_in(response: share_fetch.ShareFetchResponse) -> list[bytes | None]:
    """The values of the acquired records, read from the bytes of the answer."""
    values = []
    for topic in response.responses:
        for partition in topic.partitions:
            held = {
                offset
                for one in partition.acquired_records
                for offset in range(one.first_offset, one.last_offset + 1)
            }
            records = partition.records
            data = memoryview(records.read() if isinstance(records, FileSlice) else records)
            for position, header in iter_batches(data):
                if not header.is_control:
                    batch = read_records(data[position : position + header.size])
                    values += [record.value for record in batch if record.offset in held]
    return values


def ack_error(response: share_acknowledge.ShareAcknowledgeResponse) -> ErrorCode:
    """Of the whole response, or of its one partition."""
    if response.error_code:
        return ErrorCode(response.error_code)
    return ErrorCode(response.responses[0].partitions[0].error_code)


def _ack_batches(module: Any, batches: "list[AckSpec]") -> list[Any]:
    return [
        module.AcknowledgementBatch(
            first_offset=first, last_offset=last, acknowledge_types=types, delay_ms=delay[0] if delay else -1
        )
        for first, last, types, *delay in batches
    ]


class ShareRig:
    """Broker 1 leads `jobs-0`; more partitions on demand. Groups begin at the start of the log."""

    def __init__(self, *, settings: dict[str, str] | None = None, partitions: int = 1) -> None:
        self.clock = LoopClock()
        self.store = FakeStore()
        self.partitions = [_partition(index) for index in range(partitions)]
        topic = TopicImage(
            TOPIC, TOPIC_ID, tuple(PartitionImage(n, (1,), (1,), 1) for n in range(partitions))
        )
        groups = {GROUP: {"share.auto.offset.reset": "earliest", **(settings or {})}}
        self.listeners: list[Callable[[ImageDelta], None]] = []
        self.metadata: Any = SimpleNamespace(
            config=load(),
            image=ClusterImage(
                topics={TOPIC: topic},
                topics_by_id={TOPIC_ID: topic},
                group_configs=groups,
                features={SHARE_VERSION: 1},
            ),
            on_change=self.listeners.append,
            reachable_brokers=lambda _: [],
        )
        self.moved: set[int] = set()
        self.hosted: Any = SimpleNamespace(find=self._find, current=self._current, led=self._led)
        self.shares = SharePartitions(self.clock, self.metadata, self.hosted, self.store)
        self.services: Any = SimpleNamespace(
            clock=self.clock,
            metadata=self.metadata,
            config=self.metadata.config,
            partitions=self.hosted,
            shares=self.shares,
            persister=self.store,
            authorizer=None,
        )
        self._connections = 0

    def worker(self, name: str = "anna") -> Worker:
        self._connections += 1
        return Worker(self, name, self._connections)

    @property
    def partition(self) -> Partition:
        return self.partitions[0]

    def _find(self, topic_id: bytes, index: int) -> Partition:
        if topic_id != TOPIC_ID:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
        if not 0 <= index < len(self.partitions):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if not self.partitions[index].is_leader or index in self.moved:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return self.partitions[index]

    def _current(self, _: bytes, index: int) -> Partition | None:
        return None if index in self.moved else self.partitions[index]

    def _led(self, topic: str, index: int) -> Partition | None:
        is_here = topic == TOPIC and 0 <= index < len(self.partitions) and index not in self.moved
        return self.partitions[index] if is_here and self.partitions[index].is_leader else None

    def move_away(self, index: int = 0) -> None:
        """To other brokers: the object that stood for the partition here does not hear of it."""
        self.moved.add(index)
        self.partitions[index].release_all(KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER))

    def produce(self, *values: bytes, index: int = 0) -> None:
        """One batch."""
        records = [Record(n, NOW_MS, None, value, []) for n, value in enumerate(values)]
        batch = memoryview(write_batch(records))
        self.partitions[index].produce(batch, all_replicas=True, now_ms=NOW_MS)

    def append(self, batch: bytearray, index: int = 0) -> None:
        """A batch as it is, such as a producer's with a transaction."""
        partition = self.partitions[index]
        partition.log.append(memoryview(batch), check_batches(batch), leader_epoch=0, now_ms=NOW_MS)
        partition.appended(len(batch))

    def configure(self, settings: dict[str, str]) -> None:
        before = self.metadata.image
        groups = {GROUP: {**before.group_configs[GROUP], **settings}}
        self.metadata.image = replace(before, group_configs=groups)
        for listener in self.listeners:
            listener(ImageDelta(before, self.metadata.image))

    def lose_leadership(self, index: int = 0) -> None:
        image = PartitionImage(index, (1, 2), (1, 2), 2, leader_epoch=9, partition_epoch=9)
        self.partitions[index].apply(image, 0.0)
        topic = self.metadata.image.topics_by_id[TOPIC_ID]
        delta = ImageDelta(self.metadata.image, self.metadata.image, partitions_changed=((topic, image),))
        for listener in self.listeners:
            listener(delta)

    def delete_topic(self) -> None:
        before = self.metadata.image
        self.metadata.image = replace(before, topics={}, topics_by_id={})
        delta = ImageDelta(before, self.metadata.image, topics_deleted=(before.topics[TOPIC],))
        for listener in self.listeners:
            listener(delta)


def _partition(index: int) -> Partition:
    return sole_leader(
        open_log(MemoryDisk(), LogConfig()),
        topic=TOPIC,
        topic_id=TOPIC_ID,
        index=index,
        durability=Durability.OS,
        on_unsynced=lambda _: None,
    )
