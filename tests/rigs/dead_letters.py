"""A share partition with a dead-letter topic: a log that drops duplicates, behind calls that can fail."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from tests.rigs.log import NOW_MS, open_log
from tests.rigs.partition import sole_leader
from tests.rigs.shares import GROUP, TOPIC_ID, FakeStore, ShareRig
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.shares.dead_letters.sending import LetterSender
from tidelog.broker.shares.dead_letters.writer import DeadLetters
from tidelog.broker.shares.share_partitions import SharePartitions
from tidelog.metadata.image.entities import PartitionImage, TopicImage
from tidelog.metadata.image.image import ImageDelta
from tidelog.replication.partition import Durability, Partition
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.apis import ApiKey
from tidelog.wire.batch import iter_batches
from tidelog.wire.messages import create_topics, produce
from tidelog.wire.messages import read_share_group_state as read
from tidelog.wire.messages import write_share_group_state as write
from tidelog.wire.record import Record, read_records

DLQ = "dlq.jobs"
DLQ_ID = bytes(range(16, 32))
ENABLED = {"errors.deadletterqueue.group.enable": "true"}


class KeepingStore(FakeStore):
    """Adds up what was written, record by record, so that another leader can read it."""

    def __init__(self) -> None:
        super().__init__()
        self._records: dict[int, read.StateBatch] = {}
        self.begun: list[write.DeadLetterWrite] = []

    async def write(self, request: write.WriteShareGroupStateRequest) -> write.WriteShareGroupStateResponse:
        count = len(self.writes)
        response = await super().write(request)
        for data in self.writes[count:]:
            for one in data.state_batches:
                for at in range(one.first_offset, one.last_offset + 1):
                    self._records[at] = read.StateBatch(
                        first_offset=at,
                        last_offset=at,
                        delivery_state=one.delivery_state,
                        delivery_count=one.delivery_count,
                        available_at=one.available_at,
                    )
            self.begun = list(data.dead_letter_writes)
        self.batches = [one for at, one in sorted(self._records.items()) if at >= max(self.start_offset, 0)]
        return response

    async def read(self, request: read.ReadShareGroupStateRequest) -> read.ReadShareGroupStateResponse:
        response = await super().read(request)
        result = response.results[0].partitions[0]
        if not result.error_code:
            result.dead_letter_writes = [
                read.DeadLetterWrite(
                    producer_id=one.producer_id,
                    producer_epoch=one.producer_epoch,
                    first_sequence=one.first_sequence,
                    topic_id=one.topic_id,
                    partition=one.partition,
                    offsets=[
                        read.OffsetRange(first_offset=each.first_offset, last_offset=each.last_offset)
                        for each in one.offsets
                    ],
                )
                for one in self.begun
            ]
        return response

    def state_of(self, offset: int) -> int | None:
        one = self._records.get(offset)
        return None if one is None else one.delivery_state


class Broker2:
    """Leads the dead-letter topic. Stands in for `Peers` and `Forwarding`."""

    def __init__(self, rig: "LetterRig") -> None:
        self._rig = rig
        self.log_config = LogConfig()
        self.partition = self.fresh()
        self.errors: list[ErrorCode | OSError] = []
        """The next produces fail with these, first come first."""
        self.after_write: Callable[[], None] | None = None
        """Called once a batch is written, before its answer; may raise OSError."""
        self.refusal = ErrorCode.NONE
        """Of the controller, for the creation of topics."""
        self.produced = 0
        self.times: list[float] = []
        self.created: list[create_topics.CreatableTopic] = []

    def fresh(self) -> Partition:
        return sole_leader(
            open_log(MemoryDisk(), self.log_config),
            topic=DLQ,
            topic_id=DLQ_ID,
            durability=Durability.OS,
            on_unsynced=lambda _: None,
        )

    async def call(
        self, node: int, key: int, version: int, request: produce.ProduceRequest, **_: Any
    ) -> produce.ProduceResponse:
        assert (node, key, version) == (2, ApiKey.PRODUCE, 13)
        await asyncio.sleep(0.001)
        self.produced += 1
        self.times.append(self._rig.clock.monotonic())
        [topic] = request.topic_data
        [data] = topic.partition_data
        result = produce.PartitionProduceResponse(index=data.index)
        error = self.errors.pop(0) if self.errors else ErrorCode.NONE
        if isinstance(error, OSError):
            raise error
        if error:
            result.error_code = error
        else:
            assert data.records is not None
            assert request.acks == -1
            try:
                self.partition.produce(
                    memoryview(bytearray(data.records)), all_replicas=True, now_ms=self._rig.clock.now_ms()
                )
            except KafkaError as refused:
                result.error_code, result.error_message = refused.code, refused.message
            if self.after_write is not None:
                self.after_write()
        return produce.ProduceResponse(
            responses=[produce.TopicProduceResponse(topic_id=topic.topic_id, partition_responses=[result])]
        )

    async def ask_controller(
        self, key: int, _version: int, request: create_topics.CreateTopicsRequest
    ) -> create_topics.CreateTopicsResponse:
        assert key == ApiKey.CREATE_TOPICS
        [topic] = request.topics
        if not self.refusal:
            self.created.append(topic)
            self._rig.add_topic({one.name: one.value or "" for one in topic.configs})
        return create_topics.CreateTopicsResponse(
            topics=[create_topics.CreatableTopicResult(name=topic.name, error_code=self.refusal)]
        )

    @property
    def letters(self) -> list[Record]:
        log = self.partition.log
        read = log.read(0, 1 << 30, end=log.end)
        if read is None:
            return []
        data = memoryview(read.slice.read())
        return [one for at, header in iter_batches(data) for one in read_records(data[at : at + header.size])]


class LetterRig(ShareRig):
    """The group `workers` reads `jobs`, and has `dlq.jobs`, which broker 2 leads."""

    def __init__(self, *, settings: dict[str, str] | None = None, has_topic: bool = True) -> None:
        super().__init__(
            settings={
                "errors.deadletterqueue.topic.name": DLQ,
                "share.delivery.count.limit": "2",
                **(settings or {}),
            }
        )
        self.store = self.letter_store = KeepingStore()
        self.metadata.image = msgspec.structs.replace(self.metadata.image, features={"share.version": 2})
        self.broker2 = Broker2(self)
        self._ids = iter(range(70, 1000))
        self.lead_anew()
        if has_topic:
            self.add_topic(ENABLED)

    def lead_anew(self) -> None:
        """As after a crash, or on another broker: nothing is in memory but what the store has."""
        self.shares = SharePartitions(self.clock, self.metadata, self.hosted, self.store)
        self.services.shares = self.shares
        peers: Any = self.broker2
        self.dead_letters = DeadLetters(
            self.shares,
            self.metadata,
            LetterSender(peers, peers),
            take_producer_id=self._take_id,
            run_in_thread=run_at_once,
        )

    async def _take_id(self) -> int:
        await asyncio.sleep(0)
        return next(self._ids)

    def add_topic(self, configs: dict[str, str]) -> None:
        self.change_topics(
            {DLQ: TopicImage(DLQ, DLQ_ID, (PartitionImage(0, (2,), (2,), 2),), configs=configs)}
        )

    def change_topics(self, topics: dict[str, TopicImage | None]) -> None:
        before = self.metadata.image
        kept = {**before.topics, **topics}
        after = {name: topic for name, topic in kept.items() if topic is not None}
        self.metadata.image = msgspec.structs.replace(
            before, topics=after, topics_by_id={topic.id: topic for topic in after.values()}
        )
        created = tuple(topic for topic in topics.values() if topic is not None)
        gone = tuple(before.topics[name] for name, topic in topics.items() if topic is None)
        delta = ImageDelta(before, self.metadata.image, topics_created=created, topics_deleted=gone)
        for listener in self.listeners:
            listener(delta)

    @property
    def problem(self) -> str:
        found = self.dead_letters.problems.get((GROUP, TOPIC_ID, 0))  # type: ignore[call-overload]
        return "" if found is None else found.why

    async def until_written(self, count: int, seconds: float = 60) -> list[Record]:
        for _ in range(int(seconds * 100)):
            if len(self.broker2.letters) >= count and not len(self.dead_letters):
                break
            await asyncio.sleep(0.01)
        return self.broker2.letters


def run_at_once(work: Callable[[], Any]) -> "asyncio.Future[Any]":
    future = asyncio.get_running_loop().create_future()
    try:
        future.set_result(work())
    except Exception as error:
        future.set_exception(error)
    return future


def header(letter: Record, name: str) -> str:
    return dict(letter.headers)[f"__dlq.errors.{name}"].decode()  # type: ignore[union-attr]


__all__ = ["DLQ", "DLQ_ID", "ENABLED", "NOW_MS", "LetterRig", "header"]
