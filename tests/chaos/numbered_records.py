"""Numbered records from an idempotent librdkafka producer, and what must hold when they are read back."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

PATIENCE_S = 120.0  # a broker on a machine with ten times the load that it can bear starts in 15 s
VALUE_BYTES = 200


class Writer(threading.Thread):
    """An idempotent producer of numbered records; knows which were acknowledged, and where they are."""

    def __init__(self, address: str, topic: str, key: Callable[[int], bytes | None] = lambda _: None) -> None:
        super().__init__(daemon=True)
        self._topic = topic
        self._key = key
        self._stop_asked = threading.Event()
        self.sent = 0
        self.acknowledged: dict[int, int] = {}
        """Number of the record to its offset."""
        self.failures: list[str] = []
        self._producer = Producer(
            {
                "bootstrap.servers": address,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 1,
                "batch.num.messages": 50,
                "queue.buffering.max.messages": 2000,  # none waits long, however slow the machine is
                "message.timeout.ms": int(PATIENCE_S * 1000),
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 100,
                "retry.backoff.ms": 20,
                "log_level": 0,
            }
        )

    def run(self) -> None:
        while not self._stop_asked.is_set():
            value = b"%09d" % self.sent + bytes(VALUE_BYTES)
            try:
                self._producer.produce(
                    self._topic, value, self._key(self.sent), partition=0, on_delivery=self._delivered
                )
                self.sent += 1
            except BufferError:
                self._producer.poll(0.01)  # until there is room: the broker needs the core to come back
                continue
            self._producer.poll(0 if self.sent % 20 else 0.002)

    def stop(self) -> None:
        self._stop_asked.set()
        self.join(PATIENCE_S)

    def finish(self) -> None:
        """Stop writing, and wait until every record has its verdict."""
        self.stop()
        assert self._producer.flush(PATIENCE_S) == 0, "records without a verdict"

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failures.append(error.str())
            return
        value, offset = message.value(), message.offset()
        assert isinstance(value, bytes)
        assert offset is not None
        self.acknowledged[int(value[:9])] = offset


@contextmanager
def writing(writer: Writer) -> Iterator[Writer]:
    writer.start()
    try:
        yield writer
    except BaseException:
        writer.stop()  # the test has failed: verdicts that may never come would only hide why
        raise
    writer.finish()


def create(address: str, topic: str, **settings: str) -> None:
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    config = {name.replace("_", "."): value for name, value in settings.items()}
    admin.create_topics([NewTopic(topic, 1, 1, config=config)])[topic].result(PATIENCE_S)


def read_all(address: str, topic: str) -> list[tuple[int, int]]:
    """(offset, number) of every record in the log."""
    consumer = Consumer(
        {"bootstrap.servers": address, "group.id": "x", "enable.auto.commit": False, "log_level": 0}
    )
    try:
        start, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), PATIENCE_S)
        consumer.assign([TopicPartition(topic, 0, start)])
        found: list[tuple[int, int]] = []
        deadline = time.monotonic() + PATIENCE_S
        while consumer.position([TopicPartition(topic, 0)])[0].offset < end and start < end:
            assert time.monotonic() < deadline, f"{len(found)} records, the log ends at {end}"
            for message in consumer.consume(1000, 0.2):
                if message.error() is not None:
                    raise KafkaException(message.error())
                value = message.value()
                assert isinstance(value, bytes)
                found.append((message.offset() or 0, int(value[:9])))
        return found
    finally:
        consumer.close()


def every_acknowledged_record_is_there_once(writer: Writer, found: list[tuple[int, int]]) -> None:
    assert not writer.failures, writer.failures[:5]
    offsets = [offset for offset, _ in found]
    assert offsets == list(range(len(offsets))), "offsets without gaps"
    numbers = [number for _, number in found]
    twice = [number for number, count in Counter(numbers).items() if count > 1]
    assert not twice, f"written twice: {twice[:10]}"
    assert numbers == sorted(numbers), "in the order they were sent"
    at = {number: offset for offset, number in found}
    lost = {number: offset for number, offset in writer.acknowledged.items() if at.get(number) != offset}
    assert not lost, f"acknowledged, but not there: {dict(list(lost.items())[:10])}"
