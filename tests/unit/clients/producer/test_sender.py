"""What becomes of a record between `send` and librdkafka, with a librdkafka that does as it is told."""

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import Message as Raw

from tidelog import ClientClosed, MessageTooLarge, ProducerConfig, ProducerFenced, Receipt, RequestTimedOut
from tidelog.clients.librdkafka import heeding_fatal_errors
from tidelog.clients.producer.delivery import DeliveryFuture
from tidelog.clients.producer.sender import Sender
from tidelog.clients.serializers import data_serializer
from tidelog.clients.timestamps import milliseconds

CONFIG = ProducerConfig(bootstrap_servers="nowhere:1")


class FakeProducer:
    """Keeps records until `deliver` or `flush`; refuses the next one with `refusal`."""

    def __init__(self, properties: dict[str, Any]) -> None:
        self.properties = properties
        self.records: list[dict[str, Any]] = []
        self.refusal: Exception | None = None
        self.is_stuck = False
        self._flushed = threading.Event()

    def produce(self, **record: Any) -> None:
        if self.refusal is not None:
            refusal, self.refusal = self.refusal, None
            raise refusal
        self.records.append(record)

    def deliver(self, error: KafkaError | None = None) -> None:
        record = self.records.pop(0)
        message = Raw(topic=record["topic"], partition=0, offset=7, timestamp=(1, 99))
        record["on_delivery"](error, message)

    def poll(self, timeout: float) -> int:
        self._flushed.wait(timeout)  # what the callback thread does all day; a close must not wait for it
        return 0

    def flush(self, timeout: float) -> int:
        self._flushed.set()
        while self.records and not self.is_stuck:
            self.deliver()
        return len(self.records)

    def purge(self) -> None:
        self.is_stuck = False
        while self.records:
            self.deliver(KafkaError(KafkaError._PURGE_QUEUE))


@pytest.fixture
def sender() -> Iterator[Sender]:
    made = Sender(CONFIG, data_serializer, data_serializer, FakeProducer)
    yield made
    made.close(None)


@pytest.fixture
def send(sender: Sender) -> Callable[..., DeliveryFuture]:
    def one(value: str = "v", callback: Any = None) -> DeliveryFuture:
        delivery = DeliveryFuture(callback)
        record = sender.prepare("t", value, None, partition=None, headers=None, timestamp=None)
        assert sender.try_produce(record, delivery)
        return delivery

    return one


def test_a_receipt_reaches_future_and_callback(sender: Sender, send: Callable[..., DeliveryFuture]) -> None:
    told: list[Any] = []
    delivery = send(callback=lambda *outcome: told.append(outcome))
    assert (sender.unacknowledged, delivery.done()) == (1, False)
    sender.client.deliver()
    assert delivery.result(0) == Receipt("t", 0, 7, 99)
    assert told == [(Receipt("t", 0, 7, 99), None)]
    assert sender.unacknowledged == 0


def test_an_error_reaches_both_too(sender: Sender, send: Callable[..., DeliveryFuture]) -> None:
    told: list[Any] = []
    delivery = send(callback=lambda *outcome: told.append(outcome))
    sender.client.deliver(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
    error = delivery.exception(0)
    assert isinstance(error, MessageTooLarge)
    assert told == [(None, error)]


def test_a_record_on_its_way_cannot_be_cancelled(send: Callable[..., DeliveryFuture]) -> None:
    assert not send().cancel()


def test_a_full_buffer_is_no_outcome(sender: Sender) -> None:
    sender.client.refusal = BufferError()
    delivery = DeliveryFuture(None)
    assert not sender.try_produce({"topic": "t"}, delivery)
    assert (sender.unacknowledged, delivery.done()) == (0, False)


def test_a_refusal_on_the_spot_is_the_future_s(sender: Sender, send: Callable[..., DeliveryFuture]) -> None:
    sender.client.refusal = KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
    assert isinstance(send().exception(0), MessageTooLarge)
    assert sender.unacknowledged == 0


def test_flush_says_what_is_left(sender: Sender, send: Callable[..., DeliveryFuture]) -> None:
    send()
    sender.client.is_stuck = True
    with pytest.raises(RequestTimedOut, match=r"1 records were not acknowledged within 0\.5 s"):
        sender.flush(0.5)
    sender.client.is_stuck = False
    sender.flush(None)


def test_closing_gives_every_record_an_outcome(sender: Sender, send: Callable[..., DeliveryFuture]) -> None:
    good = send()
    sender.client.deliver()
    stuck = send()
    sender.client.is_stuck = True
    sender.close(0.1)
    assert good.result(0).offset == 7
    assert stuck.exception(0) is not None
    with pytest.raises(ClientClosed):
        sender.prepare("t", "x", None, partition=None, headers=None, timestamp=None)


def test_after_a_fatal_error_every_call_says_why(sender: Sender) -> None:
    sender.client.properties["error_cb"](KafkaError(KafkaError._FENCED, "fenced", fatal=True))
    with pytest.raises(ProducerFenced) as caught:
        sender.prepare("t", "x", None, partition=None, headers=None, timestamp=None)
    assert caught.value.fatal


def test_a_fatal_error_that_comes_out_of_a_poll_counts_too(sender: Sender) -> None:
    fatal = KafkaException(KafkaError(KafkaError._FENCED, "fenced", fatal=True))
    answers: list[Any] = [fatal, 3]

    def serve(timeout_s: float) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert heeding_fatal_errors(serve, sender._on_error)(0) == 3
    with pytest.raises(ProducerFenced):
        sender.check_usable()


def test_the_user_s_own_error_callback_is_called_as_well() -> None:
    heard: list[Any] = []
    config = ProducerConfig(bootstrap_servers="nowhere:1", extra={"error_cb": heard.append})
    made = Sender(config, data_serializer, data_serializer, FakeProducer)
    error = KafkaError(KafkaError._ALL_BROKERS_DOWN)
    made.client.properties["error_cb"](error)
    made.close(None)
    assert heard == [error]


def test_times() -> None:
    assert milliseconds(5) == 5
    assert milliseconds(datetime(2020, 1, 1, tzinfo=UTC)) == 1_577_836_800_000
