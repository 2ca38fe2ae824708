"""The compacted topic that holds the intents of all queries: the last one of each, by the query's id.

A driver holds the query's intents before it writes. That fences the driver before, so two drivers of one
query, of which one was thought dead, cannot both decide; and what is read after that is the last word.
"""

import time
import zlib

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.blocking.cluster import Cluster, TopicPartition
from tidelog.blocking.log_bounds import LogBounds
from tidelog.blocking.producer import Outgoing, Producer
from tidelog.blocking.producer_identity import ProducerIdentity
from tidelog.blocking.transactions import TransactionCalls
from tidelog.spark.sink.committed_value import CommittedValue
from tidelog.spark.sink.intents import Intent, decode, encode
from tidelog.spark.sink.transactional_ids import driver_id
from tidelog.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from tidelog.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from tidelog.wire.record import Record, write_batch

TOPIC = "_tidelog_spark_intents"
PARTITIONS = 8
REPLICAS_MAX = 3
CONFIGS = {
    "cleanup.policy": "compact",
    # Small, and compacted soon: a lookup of an intent reads all of its partition.
    "segment.bytes": str(1024 * 1024),
    "segment.ms": str(60 * 60 * 1000),
    "min.cleanable.dirty.ratio": "0.1",
}
HOLD_TIMEOUT_MS = 60_000
"""For a driver that dies while it writes an intent; the next driver does not wait for it."""
FETCH_BYTES = 4 * 1024 * 1024
FETCH_WAIT_MS = 500
NAMES_UP_TO = 12
"""The last version of Fetch that calls topics by name."""


class IntentLog:
    def __init__(self, cluster: Cluster, prefix: str, topic: str = TOPIC) -> None:
        self._cluster = cluster
        self._prefix = prefix
        self._topic = topic
        self._calls = TransactionCalls(cluster)

    def find(self, query: str) -> Intent | None:
        """The last decision for the query, as far as it is known by now."""
        if not self._cluster.topics([self._topic]):
            return None
        value = self.read_on(query, CommittedValue(query.encode()))
        return None if value is None else decode(value)

    def hold(self, query: str) -> "HeldIntents":
        self._ensure_topic()
        id = driver_id(self._prefix, query)
        return HeldIntents(self, query, id, self._calls.init(id, HOLD_TIMEOUT_MS))

    def holder(self, id: str) -> ProducerIdentity | None:
        found = self._calls.describe(id)
        return None if found is None else found.writer

    def write(
        self, id: str, holder: ProducerIdentity, query: str, value: bytes | None, seen: CommittedValue
    ) -> None:
        """`seen`: what was read before. Nothing is written where there is more by now."""
        partition, limits = self._partition(query), self._cluster.settings.limits
        producer = Producer(self._cluster, holder, limits, transactional_id=id)
        record = Record(0, int(1000 * time.time()), query.encode(), value)
        batch = write_batch(
            [record],
            producer_id=holder.producer_id,
            producer_epoch=holder.epoch,
            base_sequence=producer.reserve(partition, 1),
            transactional=True,
        )
        producer.send([Outgoing(partition, batch)])
        producer.flush()
        self._confirm(query, holder, seen)
        code = self._calls.end(id, holder, commit=True)
        if code is not ErrorCode.NONE:
            raise KafkaError(code, f"another driver of query {query} has taken over: {code.text}")

    def _confirm(self, query: str, holder: ProducerIdentity, seen: CommittedValue) -> None:
        """A leader that was deposed and does not know it answers with what it had. What was written went to
        its successor, so a reader that sees it sees all that came before."""
        before, start = seen.value, seen.next_offset

        def look() -> None:
            self.read_on(query, seen)
            if not seen.has_open(holder.producer_id, start):
                raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "does not have what was just written")

        self._cluster.attempts(f"intent of query {query}").run(look)
        if seen.value != before:
            raise KafkaError(
                ErrorCode.PRODUCER_FENCED, f"another driver of query {query} has decided in the meantime"
            )

    def _partition(self, query: str) -> TopicPartition:
        # No more than it was made with: a query must find its decision after partitions were added.
        count = min(PARTITIONS, len(self._cluster.topic(self._topic).leaders))
        return TopicPartition(self._topic, zlib.crc32(query.encode()) % count)

    def read_on(self, query: str, found: CommittedValue) -> bytes | None:
        """From where it was left to the present end. A topic that the brokers do not know is no answer."""
        partition = self._cluster.attempts(f"leaders of {self._topic}").run(lambda: self._partition(query))
        bounds = LogBounds(self._cluster, read_committed=False)
        end = bounds.latest([partition])[partition]
        found.next_offset = max(found.next_offset, bounds.earliest([partition])[partition])
        stable = 0
        while found.next_offset < end:
            part = self._fetch(partition, found.next_offset)
            stable = part.last_stable_offset
            if part.records is not None:
                found.read(part.records)  # type: ignore[arg-type]  # answers hold no file ranges
        return found.finish(stable)

    def _fetch(self, partition: TopicPartition, offset: int) -> PartitionData:
        wanted = FetchPartition(
            partition=partition.partition, fetch_offset=offset, partition_max_bytes=FETCH_BYTES
        )
        question = FetchRequest(
            max_wait_ms=FETCH_WAIT_MS,
            min_bytes=1,
            max_bytes=FETCH_BYTES,
            topics=[FetchTopic(topic=partition.topic, partitions=[wanted])],
        )

        def failed(answer: FetchResponse) -> int:
            return answer.error_code or answer.responses[0].partitions[0].error_code

        answer: FetchResponse = self._cluster.call_leader(
            partition, question, failed=failed, at_most=NAMES_UP_TO
        )
        return answer.responses[0].partitions[0]

    def _ensure_topic(self) -> None:
        if self._cluster.topics([self._topic]):
            return
        replicas = min(REPLICAS_MAX, len(self._cluster.nodes()))
        configs = CONFIGS | {"min.insync.replicas": str(max(1, replicas - 1))}
        topic = CreatableTopic(
            name=self._topic,
            num_partitions=PARTITIONS,
            replication_factor=replicas,
            configs=[CreatableTopicConfig(name=name, value=value) for name, value in configs.items()],
        )

        def failed(answer: CreateTopicsResponse) -> int:
            code = answer.topics[0].error_code
            return 0 if code == ErrorCode.TOPIC_ALREADY_EXISTS else code

        self._cluster.call_any(CreateTopicsRequest(topics=[topic]), failed=failed)
        self._cluster.attempts(f"leaders of {self._topic}").run(self._await_leaders)

    def _await_leaders(self) -> None:
        for partition in range(PARTITIONS):
            self._cluster.leader(TopicPartition(self._topic, partition))


class HeldIntents:
    """The intents of one query, in the hands of one driver."""

    def __init__(self, log: IntentLog, query: str, id: str, holder: ProducerIdentity) -> None:
        self._log, self._query, self._id, self._holder = log, query, id, holder
        self._seen = CommittedValue(query.encode())

    def find(self) -> Intent | None:
        value = self._log.read_on(self._query, self._seen)
        return None if value is None else decode(value)

    def is_held(self) -> bool:
        """Whether no other driver has taken over; only before `write`."""
        return self._log.holder(self._id) == self._holder

    def write(self, intent: Intent) -> None:
        """Once: the holder's transaction ends with it. From its success on the batch is decided."""
        self._log.write(self._id, self._holder, intent.query, encode(intent), self._seen)
