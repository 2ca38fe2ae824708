"""The part that both producers share: a librdkafka producer, its callback thread, and records made ready."""

import threading
import warnings
from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol

from confluent_kafka import KafkaException
from confluent_kafka import Producer as LibrdkafkaProducer

from tidelog.clients import last_call
from tidelog.clients.connection import Connection
from tidelog.clients.error_table import as_client_error, from_exception, translated
from tidelog.clients.errors import ClientClosed, ClientError, RequestTimedOut, UsageError
from tidelog.clients.librdkafka import OpenClient, heeding_fatal_errors, open_librdkafka
from tidelog.clients.log import LOG
from tidelog.clients.producer.callback_service import CallbackService
from tidelog.clients.producer.config import ProducerConfig
from tidelog.clients.producer.delivery import Delivery, report_to, sending
from tidelog.clients.records import Headers
from tidelog.clients.retrying import retry_while_passing
from tidelog.clients.schemas.confluent import own_serializer
from tidelog.clients.serializers import serialize, serialize_headers
from tidelog.clients.timestamps import milliseconds
from tidelog.clients.tracing import TraceInjector
from tidelog.clients.trouble import Trouble

FOR_EVER = -1.0
GIVEN_UP = ("_PURGE_QUEUE", "_PURGE_INFLIGHT")


class UnderWay(Protocol):
    """The transaction that is under way."""

    def check_open(self) -> None: ...


class Sender:
    words = last_call.Words("a producer", "of its records had no outcome", "with Producer(...) as producer:")

    def __init__(
        self,
        config: ProducerConfig,
        key_serializer: Callable[[Any], bytes],
        value_serializer: Callable[[Any], bytes],
        open_client: OpenClient = LibrdkafkaProducer,
    ) -> None:
        self.config = config
        self._serialize_key = own_serializer(key_serializer)
        self._serialize_value = own_serializer(value_serializer)
        self.fatal: ClientError | None = None
        """What ended this producer for good."""
        self.failure: ClientError | None = None
        """Of the first record that failed since a transaction began."""
        self.transaction: UnderWay | None = None
        self._has_transactions = False
        self._with_trace = TraceInjector() if config.tracing else None
        self._lock = threading.Lock()
        self.unacknowledged = 0
        """Records without an outcome yet."""
        self._closed = True
        self._in_vain: Trouble | None = None
        properties = config.to_librdkafka()
        self.connection = Connection.of(properties)
        self.connection.tell(self._give_up_if_in_vain)
        self.client = open_librdkafka(open_client, properties, self._on_error)
        self.poll = heeding_fatal_errors(self.client.poll, self._on_error)
        self._flush = heeding_fatal_errors(self.client.flush, self._on_error)
        self._callbacks = CallbackService(self.poll, f"{config.client_id}-deliveries")
        self._closed = False
        last_call.OPEN.add(self)

    def prepare(
        self,
        topic: str,
        value: Any,
        key: Any,
        *,
        partition: int | None,
        headers: Headers | None,
        timestamp: int | datetime | None,
    ) -> dict[str, Any]:
        """The arguments of librdkafka's produce; raises at once where the record itself is wrong."""
        self.check_usable()
        if self.config.transactional_id is not None:
            self._check_in_transaction()
        if self._with_trace is not None:
            headers = self._with_trace(headers)
        pairs = serialize_headers(headers, topic)
        record: dict[str, Any] = {
            "topic": topic,
            "value": serialize(self._serialize_value, value, "value", topic, pairs),
            "key": serialize(self._serialize_key, key, "key", topic, pairs),
        }
        if partition is not None:
            if partition < 0:
                raise UsageError(
                    f"There is no partition {partition}.", attempt="leave it out to let the key decide."
                )
            record["partition"] = partition
        if pairs:
            record["headers"] = pairs
        if timestamp is not None:
            record["timestamp"] = milliseconds(timestamp)
        return record

    def try_produce(self, record: dict[str, Any], delivery: Delivery) -> bool:
        """False where the buffer is full. Refusals of the record go to its delivery."""
        self._count(1)
        topic, partition = record["topic"], record.get("partition")
        try:
            self.client.produce(**record, on_delivery=report_to(delivery, topic, partition, self._resolve))
        except BufferError:
            self._count(-1)
            return False
        except KafkaException as error:
            self._count(-1)
            delivery.fail(from_exception(error, sending(topic, partition), producing=True))
        self._callbacks.sent()
        if self._in_vain is not None:
            self._give_up_if_in_vain()
        return True

    def _count(self, change: int) -> None:
        # librdkafka's own count has log lines and statistics in it.
        with self._lock:
            self.unacknowledged += change

    def _resolve(self, error: ClientError | None) -> ClientError | None:
        """What to tell about the record: the reason why it was given up, if it was."""
        self._count(-1)
        if error is None:
            self.connection.reached = True
            return None
        if self._in_vain is not None and error.reason in GIVEN_UP:
            error = self._in_vain.as_error()
        elif self.fatal is not None and error.reason in GIVEN_UP:
            error = self.fatal  # librdkafka has thrown the record away for it
        error = self.connection.explained(error, may_wait=False)
        self.failure = self.failure or error
        return error

    def _give_up_if_in_vain(self) -> None:
        """Records that no broker will ever take fail now, and not at the end of delivery_timeout_ms."""
        self._in_vain = self.connection.trouble()
        if self._in_vain is not None:
            self.client.purge(blocking=False)

    def take_over(self) -> None:
        """Once per transactional producer: get its id, fence earlier ones, end what they left open."""
        self.check_usable()
        if not self._has_transactions:
            with translated("Preparing transactions"):
                self.connection.ask(
                    self._get_transactional_id,
                    self.config.request_timeout_ms / 1000,
                    lambda: self.poll(0),
                )
            self._has_transactions = True

    def _get_transactional_id(self, limit_s: float) -> bool:
        retry_while_passing(self.client.init_transactions, limit_s)
        return True

    def _check_in_transaction(self) -> None:
        if self.transaction is None:
            raise UsageError(
                "A transactional producer sends within transactions only.",
                cause="no transaction is under way.",
                attempt="use `with producer.transaction() as tx: tx.send(...)`.",
            )
        self.transaction.check_open()

    def flush(self, timeout_s: float | None) -> None:
        self.check_open()
        self._flush(FOR_EVER if timeout_s is None else timeout_s)
        if self.unacknowledged:
            raise RequestTimedOut(
                f"{self.unacknowledged:,} records were not acknowledged within {timeout_s or 0:g} s.",
                attempt="flush again, or wait for the futures of the records.",
                retriable=True,
            )

    def close(self, timeout_s: float | None) -> None:
        """Every record that was accepted gets its outcome: what cannot be sent in time fails."""
        if self._closed:
            return
        self._closed = True
        last_call.OPEN.discard(self)
        try:
            self._flush(FOR_EVER if timeout_s is None else timeout_s)
            if self.unacknowledged:
                self.client.purge()
                self._flush(FOR_EVER)
        finally:
            self._callbacks.stop()

    def check_usable(self) -> None:
        self.check_open()
        if self.fatal is not None:
            raise self.fatal

    def check_open(self) -> None:
        if self._closed:
            raise ClientClosed("The producer is closed.")

    def _on_error(self, error: Any) -> None:
        self.connection.heard(error)
        self._give_up_if_in_vain()
        if error.fatal():
            self.fatal = as_client_error(error, "The producer", producing=True)
        LOG.debug("librdkafka reports %s", error)

    def __del__(self) -> None:
        if not self._closed:
            warnings.warn("a producer was not closed; use `with`", ResourceWarning, stacklevel=2)
            self._callbacks.stop()
