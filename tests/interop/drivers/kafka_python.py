"""kafka-python: pure Python, and the only Python client here that knows the newest admin calls."""

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import kafka.errors
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import AlterConfigOp, ConfigResource, ConfigResourceType, OffsetSpec

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
from tests.interop.drivers.kafka_python_groups import Groups
from tests.interop.drivers.kafka_python_transactions import Transactions
from tests.interop.drivers.members import Members


class Driver(Groups, Transactions, Members):
    name = "kafka-python"
    assignors = ("range", "roundrobin", "sticky", "cooperative-sticky")
    can_be_static = True
    tells_of_fencing = True
    takes_many = True
    can_leave_counts_out = True

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._admin = KafkaAdminClient(bootstrap_servers=bootstrap)

    def close(self) -> None:
        self.close_members()
        self._admin.close()

    @staticmethod
    def can_write(record: Record) -> bool:
        has_content = record.key is not None or record.value is not None
        return has_content and all(value is not None for _, value in record.headers)

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
        producer = KafkaProducer(
            bootstrap_servers=self._bootstrap,
            compression_type=None if codec == "none" else codec,
            acks=acks if acks == "all" else int(acks),
            enable_idempotence=idempotent,
            max_request_size=8_000_000,
            batch_size=1000 if small_batches else 65536,
            linger_ms=0 if small_batches else 5,
        )
        try:
            with raising_refused():
                sent = [
                    producer.send(
                        topic,
                        record.value,
                        record.key,
                        headers=list(record.headers),
                        partition=record.partition,
                        timestamp_ms=record.timestamp,
                    )
                    for record in records
                ]
                producer.flush(PATIENCE_S)
                answers = [future.get(PATIENCE_S) for future in sent]
        finally:
            producer.close(timeout=PATIENCE_S)
        return [answer.offset for answer in answers] if acks != "0" else None

    def _consumer(self) -> KafkaConsumer:
        return KafkaConsumer(
            bootstrap_servers=self._bootstrap, auto_offset_reset="none", enable_auto_commit=False
        )

    def consume(
        self,
        topic: str,
        start: int,
        count: int,
        partitions: Sequence[int] = (0,),
        patience_s: float = PATIENCE_S,
    ) -> list[Record]:
        where = [TopicPartition(topic, partition) for partition in partitions]
        consumer = self._consumer()
        deadline = time.monotonic() + patience_s
        records: list[Record] = []
        try:
            consumer.assign(where)
            if start == EARLIEST:
                consumer.seek_to_beginning(*where)
            elif start == LATEST:
                consumer.seek_to_end(*where)
            else:
                for place in where:
                    consumer.seek(place, start)
            while len(records) < count:
                if time.monotonic() > deadline:
                    raise Unfinished("consume", records)
                with raising_refused():
                    for messages in consumer.poll(timeout_ms=200, max_records=count - len(records)).values():
                        records += map(as_record, messages)
        finally:
            consumer.close()
        return records

    def find_offset(self, topic: str, spec: int, partition: int = 0) -> int | None:
        where = TopicPartition(topic, partition)
        with raising_refused():
            found = self._admin.list_partition_offsets({where: spec})[where].offset
        return None if found < 0 else int(found)

    def offset_of_newest_timestamp(self, topic: str, partition: int = 0) -> int | None:
        return self.find_offset(topic, OffsetSpec.MAX_TIMESTAMP, partition)

    def offset_for_time(self, topic: str, time_ms: int, partition: int = 0) -> int | None:
        where = TopicPartition(topic, partition)
        consumer = self._consumer()
        try:
            with raising_refused():
                found = consumer.offsets_for_times({where: time_ms})[where]
        finally:
            consumer.close()
        return None if found is None else int(found.offset)

    def create_topic(
        self,
        topic: str,
        partitions: int = 1,
        replication_factor: int = 1,
        configs: Mapping[str, str] | None = None,
        validate_only: bool = False,
    ) -> None:
        options = {
            "num_partitions": partitions,
            "replication_factor": replication_factor,
            "configs": dict(configs or {}),
        }
        with raising_refused():
            self._admin.create_topics({topic: options}, validate_only=validate_only)

    def list_topics(self) -> set[str]:
        return set(self._admin.list_topics())

    def describe_topic(self, topic: str) -> dict[int, PartitionInfo]:
        with raising_refused():
            [found] = self._admin.describe_topics([topic])
        check(found)
        return partition_infos(found)

    def describe_topic_by_pages(self, topic: str) -> dict[int, PartitionInfo]:
        with raising_refused():
            [found] = self._admin.describe_topic_partitions([topic])["topics"]
        check(found)
        return partition_infos(found)

    def describe_configs(self, kind: str, name: str) -> dict[str, ConfigEntry]:
        resource = ConfigResource(ConfigResourceType[kind.upper()], name)
        with raising_refused():
            found = self._admin.describe_configs([resource], include_synonyms=True, config_filter="all")
        [[entries]] = [by_name.values() for by_name in found.values()]
        return {
            key: ConfigEntry(
                entry["value"],
                entry["config_source"] == "DEFAULT_CONFIG",
                entry["read_only"],
                entry["is_sensitive"],
                tuple((synonym["name"], synonym["value"]) for synonym in entry.get("synonyms") or ()),
            )
            for key, entry in entries.items()
        }

    def list_config_resources(self) -> Any:
        with raising_refused():
            return self._admin.list_config_resources()

    def alter_configs(self, kind: str, name: str, changes: Iterable[ConfigChange]) -> None:
        steps = {change.name: (AlterConfigOp[change.op.upper()], change.value) for change in changes}
        with raising_refused():
            resource = ConfigResource(ConfigResourceType[kind.upper()], name, steps)
            [[said]] = [
                found.values()
                for found in self._admin.alter_configs([resource], raise_on_unknown=False).values()
            ]
        refused = re.match(r"\[Error (\d+)]", str(said))
        if refused:
            raise Refused(int(refused[1]), said)

    def add_partitions(self, topic: str, total: int) -> None:
        with raising_refused():
            self._admin.create_partitions({topic: total})

    def delete_records(self, topic: str, before: int, partition: int = 0) -> int:
        where = TopicPartition(topic, partition)
        with raising_refused():
            answer = self._admin.delete_records({where: before})[where]
        return int(answer["low_watermark"])

    def delete_topic(self, topic: str) -> None:
        with raising_refused():
            self._admin.delete_topics([topic])

    def describe_cluster(self) -> ClusterInfo:
        found = self._admin.describe_cluster()
        brokers = {broker["broker_id"]: f"{broker['host']}:{broker['port']}" for broker in found["brokers"]}
        return ClusterInfo(found["cluster_id"], found["controller_id"], brokers)

    def log_sizes(self, topic: str) -> dict[int, int]:
        sizes: dict[int, int] = {}
        for broker in self._admin.describe_log_dirs([topic]):
            for directory in broker["log_dirs"]:
                for entry in directory["topics"]:
                    for partition in entry["partitions"]:
                        sizes[partition["partition_index"]] = partition["partition_size"]
        return sizes


class raising_refused:
    """Turns the client's error classes into `Refused`."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: object
    ) -> None:
        if isinstance(failure, kafka.errors.OffsetOutOfRangeError | kafka.errors.NoOffsetForPartitionError):
            raise Refused(1, failure) from failure
        if isinstance(failure, kafka.errors.KafkaError):
            raise Refused(failure.errno, failure) from failure


def check(found: Mapping[str, Any]) -> None:
    if found["error_code"]:
        raise Refused(found["error_code"], found)


def partition_infos(found: Mapping[str, Any]) -> dict[int, PartitionInfo]:
    return {
        partition["partition_index"]: PartitionInfo(
            partition["leader_id"], list(partition["replica_nodes"]), list(partition["isr_nodes"])
        )
        for partition in found["partitions"]
    }


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
