"""How a producer works, with the combinations that would lose or reorder records refused."""

from dataclasses import dataclass
from typing import Any

from tidelog.clients.client_config import (
    INT32_MAX,
    ClientConfig,
    kilobytes,
    refuse_if,
    word_value,
)
from tidelog.clients.options import AckMode, CompressionType, Partitioner

IN_FLIGHT_MAX_IN_ORDER = 5  # the broker remembers so many batches of a producer
DELIVERY_TIMEOUT_MS = 120_000
TRANSACTION_TIMEOUT_MS = 60_000  # librdkafka's own, where none is given


@dataclass(frozen=True, kw_only=True)
class ProducerConfig(ClientConfig):
    """How a producer batches, retries and waits. Frozen, and checked when it is made.

    The defaults lose nothing: every in-sync replica acknowledges a record, and retries neither repeat nor
    reorder it. For more throughput raise `linger_ms` and turn on compression. A combination that would lose
    or reorder records raises `ConfigurationError`, with the reason.

    Example:
        from tidelog import CompressionType, Producer, ProducerConfig

        config = ProducerConfig(
            bootstrap_servers=["localhost:9092"],
            linger_ms=20,
            compression_type=CompressionType.ZSTD,
        )
        with Producer(config) as producer:
            print(producer.send("events", "Hello").result())

    Attributes:
        acks: Which acknowledgement counts as success.
        enable_idempotence: No duplicates and no reordering by retries. None: yes with `AckMode.ALL`, else no.
        linger_ms: How long a batch waits for more records. Higher values make larger batches.
        batch_size: The bytes at which a batch is sent without waiting.
        compression_type: How batches are compressed.
        max_request_size: The largest record in bytes; a larger one fails with `MessageTooLarge` before it
            is sent.
        retries: How often a record is sent again. None: until `delivery_timeout_ms` is over.
        max_in_flight: Requests under way to one broker at a time; at most 5 with idempotence.
        delivery_timeout_ms: A record that is not acknowledged within this time fails with `DeliveryTimedOut`.
        buffer_records: Records that may wait to be sent; then `send` waits too.
        buffer_memory: Bytes that may wait to be sent; then `send` waits too.
        max_block_ms: How long `send` waits for room before it raises `BufferFull`.
        partitioner: How the key chooses the partition.
        transactional_id: The name under which transactions continue after a restart; see
            `TransactionalProducer`.
        transaction_timeout_ms: The broker aborts a transaction that is open for longer. None: a minute.
        tracing: Add OpenTelemetry's current trace context to the headers of each record; see
            `consumer_span`. Needs `pip install 'tidelog[otel]'`.
    """

    acks: AckMode = AckMode.ALL
    enable_idempotence: bool | None = None
    linger_ms: int = 5
    batch_size: int = 1_000_000
    compression_type: CompressionType | str = CompressionType.NONE
    max_request_size: int = 1_000_000
    retries: int | None = None
    max_in_flight: int = IN_FLIGHT_MAX_IN_ORDER
    delivery_timeout_ms: int = DELIVERY_TIMEOUT_MS
    buffer_records: int = 100_000
    buffer_memory: int = 256 * 1024 * 1024
    max_block_ms: int = 60_000
    partitioner: Partitioner = Partitioner.MURMUR2_RANDOM
    transactional_id: str | None = None
    transaction_timeout_ms: int | None = None
    tracing: bool = False

    @property
    def is_idempotent(self) -> bool:
        """Whether retries can neither repeat nor reorder records."""
        return self.acks is AckMode.ALL if self.enable_idempotence is None else self.enable_idempotence

    def _check(self) -> None:
        self._word("acks", AckMode)
        self._word("compression_type", CompressionType)
        self._word("partitioner", Partitioner)
        self._between("linger_ms", 0, 900_000)
        self._between("batch_size", 1)
        self._between("max_request_size", 1000, 1_000_000_000)
        self._between("retries", 0)
        self._between("max_in_flight", 1, 1_000_000)
        self._between("delivery_timeout_ms", 1)
        self._between("buffer_records", 1)
        self._between("buffer_memory", 1024, INT32_MAX * 1024)
        self._between("max_block_ms", 0)
        self._between("transaction_timeout_ms", 1000)
        self._check_sizes_and_times()
        if self.is_idempotent:
            self._check_idempotence()
        self._check_transactions()

    def _check_sizes_and_times(self) -> None:
        refuse_if(
            self.delivery_timeout_ms <= self.linger_ms,
            f"delivery_timeout_ms={self.delivery_timeout_ms} is not longer than linger_ms={self.linger_ms}.",
            "raise delivery_timeout_ms or lower linger_ms.",
            "records would fail while they still wait for their batch.",
        )
        refuse_if(
            self.buffer_memory < self.max_request_size,
            f"buffer_memory={self.buffer_memory:_} is less than max_request_size={self.max_request_size:_}.",
            "raise buffer_memory.",
            "a record that is allowed would never fit into the buffer.",
        )

    def _check_idempotence(self) -> None:
        refuse_if(
            self.acks is not AckMode.ALL,
            f"enable_idempotence=True contradicts acks=AckMode.{self.acks.name}.",
            "use acks=AckMode.ALL, or enable_idempotence=False.",
            "a record that not every in-sync replica has may be lost, and its sequence number with it.",
        )
        refuse_if(
            self.max_in_flight > IN_FLIGHT_MAX_IN_ORDER,
            f"enable_idempotence=True contradicts max_in_flight={self.max_in_flight}.",
            f"use max_in_flight of at most {IN_FLIGHT_MAX_IN_ORDER}, or enable_idempotence=False.",
            f"the broker tells duplicates among the last {IN_FLIGHT_MAX_IN_ORDER} batches only.",
        )
        refuse_if(
            self.retries == 0,
            "enable_idempotence=True contradicts retries=0.",
            "leave retries out and bound the time with delivery_timeout_ms.",
            "idempotence is there to make retries safe; without them a hiccup leaves a gap.",
        )

    def _check_transactions(self) -> None:
        if self.transactional_id is None:
            refuse_if(
                self.transaction_timeout_ms is not None,
                "transaction_timeout_ms is set without transactional_id.",
                "name a transactional_id, or leave the timeout out.",
            )
            return
        refuse_if(not self.transactional_id, "transactional_id is empty.", "name it, or leave it out.")
        refuse_if(
            self.acks is not AckMode.ALL,
            f"transactional_id contradicts acks=AckMode.{self.acks.name}.",
            "use acks=AckMode.ALL, or leave acks out.",
            "a transaction that counts must be on every in-sync replica.",
        )
        refuse_if(
            not self.is_idempotent,
            "transactional_id contradicts enable_idempotence=False.",
            "leave enable_idempotence out.",
            "a transaction numbers its records, as idempotence does.",
        )
        limit = self.transaction_timeout_ms
        refuse_if(
            limit is not None and limit < self.delivery_timeout_ms != DELIVERY_TIMEOUT_MS,
            f"transaction_timeout_ms={limit} is shorter than delivery_timeout_ms={self.delivery_timeout_ms}.",
            "lower delivery_timeout_ms or raise transaction_timeout_ms.",
            "the broker would abort the transaction while its records are still being sent.",
        )

    def _properties(self) -> dict[str, Any]:
        shared = super()._properties()
        if self.transactional_id is not None:  # no request may outlive its transaction
            shared["socket.timeout.ms"] = min(shared["socket.timeout.ms"], self.transaction_limit_ms)
        return {
            **shared,
            "acks": self.acks.value,
            "enable.idempotence": self.is_idempotent,
            "linger.ms": self.linger_ms,
            "batch.size": self.batch_size,
            "compression.type": word_value(self.compression_type),
            "message.max.bytes": self.max_request_size,
            "message.send.max.retries": self.retries,
            "max.in.flight.requests.per.connection": self.max_in_flight,
            "message.timeout.ms": self._message_timeout_ms(),
            "request.timeout.ms": min(self.request_timeout_ms, self.delivery_timeout_ms),
            "queue.buffering.max.messages": self.buffer_records,
            "queue.buffering.max.kbytes": kilobytes(self.buffer_memory),
            "partitioner": self.partitioner.value,
            "transactional.id": self.transactional_id,
            "transaction.timeout.ms": self.transaction_timeout_ms,
        }

    @property
    def transaction_limit_ms(self) -> int:
        """How long a transaction may be open: `transaction_timeout_ms`, or librdkafka's default."""
        return self.transaction_timeout_ms or TRANSACTION_TIMEOUT_MS

    def _message_timeout_ms(self) -> int:
        """No record may outlive its transaction."""
        if self.transactional_id is None:
            return self.delivery_timeout_ms
        return min(self.delivery_timeout_ms, self.transaction_limit_ms)
