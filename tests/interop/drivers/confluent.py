"""confluent-kafka: librdkafka under a thin Python skin."""

import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from confluent_kafka import (
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
)
from confluent_kafka.admin import (
    ConfigEntry as RdConfigEntry,
)

from tests.interop.driver import (
    EARLIEST,
    LATEST,
    PATIENCE_S,
    ClusterInfo,
    ConfigChange,
    ConfigEntry,
    PartitionInfo,
    Record,
    Refused,
    Unfinished,
)
from tests.interop.drivers.confluent_groups import Groups
from tests.interop.drivers.confluent_transactions import Transactions
from tests.interop.drivers.members import Members
from tests.interop.shares.member import ShareMembers

SPECS = {EARLIEST: OffsetSpec.earliest, LATEST: OffsetSpec.latest}


class Driver(Groups, Transactions, ShareMembers, Members):
    name = "confluent"
    assignors = ("range", "roundrobin", "cooperative-sticky")
    can_be_static = True
    metadata_readers = ()
    tells_of_fencing = True
    takes_many = True
    can_leave_counts_out = True
    can_renew = False
    can_be_exact = False

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._common = {"bootstrap.servers": bootstrap, "message.max.bytes": 8_000_000}
        self._admin = AdminClient(self._common)

    def close(self) -> None:
        self.close_members()
        del self._admin

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
        settings: dict[str, Any] = {"compression.type": codec, "acks": acks, "enable.idempotence": idempotent}
        settings |= {"batch.num.messages": 20, "linger.ms": 0} if small_batches else {"linger.ms": 5}
        producer = Producer({**self._common, **settings})
        offsets: list[int] = []
        failed: list[KafkaError] = []

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                failed.append(error)
            else:
                offsets.append(message.offset())

        for record in records:
            extra = {} if record.timestamp is None else {"timestamp": record.timestamp}
            producer.produce(
                topic,
                record.value,
                record.key,
                partition=record.partition,
                headers=list(record.headers),
                on_delivery=delivered,
                **extra,
            )
        if producer.flush(PATIENCE_S):
            raise Unfinished("flush", offsets)
        if failed:
            raise Refused(failed[0].code(), failed[0].str())
        return offsets if acks != "0" else None

    def consume(
        self,
        topic: str,
        start: int,
        count: int,
        partitions: Sequence[int] = (0,),
        patience_s: float = PATIENCE_S,
    ) -> list[Record]:
        settings = {"group.id": "unused", "enable.auto.commit": False, "auto.offset.reset": "error"}
        # Closing waits for the fetch on its way, and this client closes hundreds of consumers in a run.
        consumer = Consumer({**self._common, **settings, "fetch.wait.max.ms": 100})
        try:
            # librdkafka waits half a second before it asks for an offset again whose leader it did not know.
            consumer.list_topics(topic, timeout=PATIENCE_S)
            consumer.assign([TopicPartition(topic, partition, start) for partition in partitions])
            return self._poll(consumer, count, patience_s)
        finally:
            consumer.close()

    def _poll(self, consumer: Consumer, count: int, patience_s: float) -> list[Record]:
        deadline = time.monotonic() + patience_s
        records: list[Record] = []
        while len(records) < count:
            if time.monotonic() > deadline:
                raise Unfinished("consume", records)
            for message in consumer.consume(count - len(records), timeout=0.2):
                error = message.error()
                if error is not None:
                    # A failed start position comes as a local error whose text names the broker's error.
                    code = 1 if error.code() == KafkaError._AUTO_OFFSET_RESET else error.code()
                    raise Refused(code, error.str())
                records.append(as_record(message))
        return records

    def find_offset(self, topic: str, spec: int, partition: int = 0) -> int | None:
        offset_spec = SPECS[spec]() if spec in SPECS else OffsetSpec.for_timestamp(spec)
        return self._list_offset(topic, offset_spec, partition)

    def offset_of_newest_timestamp(self, topic: str, partition: int = 0) -> int | None:
        return self._list_offset(topic, OffsetSpec.max_timestamp(), partition)

    def _list_offset(self, topic: str, spec: OffsetSpec, partition: int) -> int | None:
        asked = {TopicPartition(topic, partition): spec}
        answer = self._admin.list_offsets(asked, isolation_level=IsolationLevel.READ_UNCOMMITTED)
        offset = int(only(answer).offset)
        return None if offset < 0 else offset

    def offset_for_time(self, topic: str, time_ms: int, partition: int = 0) -> int | None:
        consumer = Consumer({**self._common, "group.id": "unused"})
        try:
            [found] = consumer.offsets_for_times(
                [TopicPartition(topic, partition, time_ms)], timeout=PATIENCE_S
            )
        finally:
            consumer.close()
        return None if found.offset < 0 else int(found.offset)

    def create_topic(
        self,
        topic: str,
        partitions: int = 1,
        replication_factor: int = 1,
        configs: Mapping[str, str] | None = None,
        validate_only: bool = False,
    ) -> None:
        new = NewTopic(topic, partitions, replication_factor, config=dict(configs or {}))
        only(self._admin.create_topics([new], validate_only=validate_only))

    def list_topics(self) -> set[str]:
        return set(self._admin.list_topics(timeout=PATIENCE_S).topics)

    def describe_topic(self, topic: str) -> dict[int, PartitionInfo]:
        found = only(self._admin.describe_topics(TopicCollection([topic])))
        return {
            partition.id: PartitionInfo(
                partition.leader.id,
                [node.id for node in partition.replicas],
                [node.id for node in partition.isr],
            )
            for partition in found.partitions
        }

    def describe_configs(self, kind: str, name: str) -> dict[str, ConfigEntry]:
        found = only(self._admin.describe_configs([ConfigResource(kind, name)]))
        return {
            entry.name: ConfigEntry(
                entry.value,
                entry.is_default,
                entry.is_read_only,
                entry.is_sensitive,
                tuple((synonym.name, synonym.value) for synonym in entry.synonyms.values()),
            )
            for entry in found.values()
        }

    def alter_configs(self, kind: str, name: str, changes: Iterable[ConfigChange]) -> None:
        entries = [
            RdConfigEntry(
                change.name, change.value, incremental_operation=AlterConfigOpType[change.op.upper()]
            )
            for change in changes
        ]
        only(self._admin.incremental_alter_configs([ConfigResource(kind, name, incremental_configs=entries)]))

    def replace_configs(self, kind: str, name: str, configs: Mapping[str, str]) -> None:
        only(self._admin.alter_configs([ConfigResource(kind, name, set_config=dict(configs))]))

    def add_partitions(self, topic: str, total: int) -> None:
        only(self._admin.create_partitions([NewPartitions(topic, total)]))

    def delete_records(self, topic: str, before: int, partition: int = 0) -> int:
        return int(only(self._admin.delete_records([TopicPartition(topic, partition, before)])).low_watermark)

    def delete_topic(self, topic: str) -> None:
        only(self._admin.delete_topics([topic]))

    def describe_cluster(self) -> ClusterInfo:
        found = self._admin.describe_cluster().result(PATIENCE_S)
        controller = None if found.controller is None else found.controller.id
        return ClusterInfo(
            found.cluster_id, controller, {node.id: f"{node.host}:{node.port}" for node in found.nodes}
        )


def only(answers: Mapping[Any, "Future[Any]"]) -> Any:
    [answer] = answers.values()
    try:
        return answer.result(PATIENCE_S)
    except KafkaException as failure:
        raise Refused(failure.args[0].code(), failure.args[0].str()) from failure


def as_record(message: Message) -> Record:
    kind, timestamp = message.timestamp()
    return Record(
        message.key(),
        message.value(),
        tuple(message.headers() or ()),
        timestamp,
        message.partition(),
        message.offset(),
        kind == TIMESTAMP_LOG_APPEND_TIME,
    )
