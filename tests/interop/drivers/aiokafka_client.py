"""aiokafka: asyncio all the way down; each call here runs its own event loop."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiokafka.errors
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.structs import OffsetAndTimestamp

from tests.interop.driver import (
    EARLIEST,
    LATEST,
    PATIENCE_S,
    ClusterInfo,
    ConfigEntry,
    PartitionInfo,
    Record,
    Refused,
    Unfinished,
)
from tests.interop.drivers.aiokafka_groups import Groups
from tests.interop.drivers.aiokafka_transactions import Transactions
from tests.interop.drivers.members import Members

DEFAULT_SOURCE = 5


class Driver(Groups, Transactions, Members):
    name = "aiokafka"
    assignors = ("range", "roundrobin", "sticky")
    can_be_static = True
    metadata_readers = ("admin",)
    takes_many = True

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def close(self) -> None:
        self.close_members()

    @staticmethod
    def can_write(record: Record) -> bool:
        return record.key is not None or record.value is not None

    def produce(
        self,
        topic: str,
        records: Iterable[Record],
        *,
        codec: str = "none",
        acks: str = "all",
        idempotent: bool = False,
        small_batches: bool = False,
    ) -> list[int] | None:
        async def send() -> list[int] | None:
            producer = AIOKafkaProducer(
                bootstrap_servers=self._bootstrap,
                compression_type=None if codec == "none" else codec,
                acks=acks if acks == "all" else int(acks),
                enable_idempotence=idempotent,
                max_request_size=8_000_000,
                max_batch_size=1000 if small_batches else 16384,
            )
            async with producer:
                sent = [
                    await producer.send(
                        topic,
                        record.value,
                        record.key,
                        partition=record.partition,
                        timestamp_ms=record.timestamp,
                        headers=list(record.headers),
                    )
                    for record in records
                ]
                await producer.flush()
                answers = await asyncio.gather(*sent)
            return [answer.offset for answer in answers] if acks != "0" else None

        return run(send())

    @asynccontextmanager
    async def _consumer(self) -> AsyncIterator[AIOKafkaConsumer]:
        consumer = AIOKafkaConsumer(bootstrap_servers=self._bootstrap, auto_offset_reset="none")
        await consumer.start()
        try:
            yield consumer
        finally:
            await consumer.stop()

    def consume(
        self,
        topic: str,
        start: int,
        count: int,
        partitions: Sequence[int] = (0,),
        patience_s: float = PATIENCE_S,
    ) -> list[Record]:
        where = [TopicPartition(topic, partition) for partition in partitions]
        records: list[Record] = []

        async def read() -> None:
            async with self._consumer() as consumer:
                consumer.assign(where)
                if start == EARLIEST:
                    await consumer.seek_to_beginning(*where)
                elif start == LATEST:
                    await consumer.seek_to_end(*where)
                else:
                    for place in where:
                        consumer.seek(place, start)
                while len(records) < count:
                    records.append(as_record(await consumer.getone()))

        try:
            run(asyncio.wait_for(read(), patience_s))
        except TimeoutError:
            raise Unfinished("consume", records) from None
        return records

    def find_offset(self, topic: str, spec: int, partition: int = 0) -> int | None:
        where = TopicPartition(topic, partition)

        async def find() -> int | None:
            async with self._consumer() as consumer:
                if spec == EARLIEST:
                    return (await consumer.beginning_offsets([where]))[where]
                if spec == LATEST:
                    return (await consumer.end_offsets([where]))[where]
                found: OffsetAndTimestamp | None = (await consumer.offsets_for_times({where: spec}))[where]
                return None if found is None else found.offset

        return run(find())

    def offset_for_time(self, topic: str, time_ms: int, partition: int = 0) -> int | None:
        return self.find_offset(topic, time_ms, partition)

    @asynccontextmanager
    async def _admin(self) -> AsyncIterator[AIOKafkaAdminClient]:
        admin = AIOKafkaAdminClient(bootstrap_servers=self._bootstrap)
        await admin.start()
        try:
            yield admin
        finally:
            await admin.close()

    def _ask(self, method: str, *arguments: Any, **options: Any) -> Any:
        async def ask() -> Any:
            async with self._admin() as admin:
                return await getattr(admin, method)(*arguments, **options)

        return run(ask())

    def create_topic(
        self,
        topic: str,
        partitions: int = 1,
        replication_factor: int = 1,
        configs: Mapping[str, str] | None = None,
        validate_only: bool = False,
    ) -> None:
        new = NewTopic(topic, partitions, replication_factor, topic_configs=dict(configs or {}))
        check(self._ask("create_topics", [new], validate_only=validate_only).topic_errors)

    def list_topics(self) -> set[str]:
        return set(self._ask("list_topics"))

    def describe_topic(self, topic: str) -> dict[int, PartitionInfo]:
        [found] = self._ask("describe_topics", [topic])
        check([(topic, found["error_code"])])
        return {
            partition["partition"]: PartitionInfo(
                partition["leader"], partition["replicas"], partition["isr"]
            )
            for partition in found["partitions"]
        }

    def describe_configs(self, kind: str, name: str) -> dict[str, ConfigEntry]:
        resource = ConfigResource(ConfigResourceType[kind.upper()], name)
        [answer] = self._ask("describe_configs", [resource], include_synonyms=True)
        [(code, message, _, _, entries, *_)] = answer.resources
        check([(name, code, message)])
        return {
            key: ConfigEntry(
                value,
                source == DEFAULT_SOURCE,
                read_only,
                sensitive,
                tuple(synonym[:2] for synonym in synonyms),
            )
            for key, value, read_only, source, sensitive, synonyms, *_ in entries
        }

    def replace_configs(self, kind: str, name: str, configs: Mapping[str, str]) -> None:
        resource = ConfigResource(ConfigResourceType[kind.upper()], name, dict(configs))
        answers = self._ask("alter_configs", [resource])
        for answer in answers:
            for code, message, *_ in answer.resources:
                check([(name, code, message)])

    def add_partitions(self, topic: str, total: int) -> None:
        self._ask("create_partitions", {topic: NewPartitions(total)})

    def delete_records(self, topic: str, before: int, partition: int = 0) -> int:
        where = TopicPartition(topic, partition)
        return int(self._ask("delete_records", {where: RecordsToDelete(before)})[where])

    def delete_topic(self, topic: str) -> None:
        check(self._ask("delete_topics", [topic]).topic_error_codes)

    def describe_cluster(self) -> ClusterInfo:
        found = self._ask("describe_cluster")
        brokers = {broker["node_id"]: f"{broker['host']}:{broker['port']}" for broker in found["brokers"]}
        return ClusterInfo(found.get("cluster_id"), found["controller_id"], brokers)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    try:
        return asyncio.run(work)
    except aiokafka.errors.KafkaError as failure:
        raise Refused(failure.errno, failure) from failure


def check(errors: Iterable[Sequence[Any]]) -> None:
    for _name, code, *message in errors:
        if code:
            raise Refused(code, message)


def as_record(message: Any) -> Record:
    return Record(
        message.key,
        message.value,
        tuple(message.headers),
        message.timestamp,
        message.partition,
        message.offset,
        message.timestamp_type == 1,
    )
