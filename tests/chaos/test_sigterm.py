"""SIGTERM: what is under way is answered, the exit code is 0, and the next start has nothing to scan."""

from collections.abc import Callable

import pytest
from confluent_kafka import Producer

from tests.chaos.numbered_records import (
    PATIENCE_S,
    Writer,
    create,
    every_acknowledged_record_is_there_once,
    read_all,
    writing,
)
from tests.chaos.victim import Victim, wait_until


@pytest.mark.parametrize("durability", ["fsync", "os"])
def test_stopped_while_clients_write(victim: Callable[..., Victim], durability: str) -> None:
    """Twice: the producer goes on with the next broker, and misses and repeats nothing."""
    broker = victim(durability=durability)
    broker.start()
    create(broker.address, "t", segment_bytes="65536")
    with writing(Writer(broker.address, "t")) as writer:
        for _ in range(2):
            goal = len(writer.acknowledged) + 500
            wait_until(lambda goal=goal: len(writer.acknowledged) >= goal, "records are acknowledged")
            assert broker.terminate() == 0, broker.log_tail()
            assert (broker.data / ".kafka_cleanshutdown").exists()
            broker.start()
    every_acknowledged_record_is_there_once(writer, read_all(broker.address, "t"))
    for word in ("cut ", "DAMAGED", "MISSING", "Traceback"):
        assert word not in broker.log_text()


def test_requests_under_way_are_answered(victim: Callable[..., Victim]) -> None:
    """A producer that has sent everything hears of everything, although the broker was told to stop."""
    broker = victim(durability="fsync")
    broker.start()
    create(broker.address, "t")
    producer = Producer(
        {"bootstrap.servers": broker.address, "acks": "all", "linger.ms": 0, "retries": 0, "log_level": 0}
    )
    verdicts: list[object] = []
    producer.produce("t", b"first", on_delivery=lambda error, _: verdicts.append(error))
    assert producer.flush(PATIENCE_S) == 0
    for _ in range(20):
        producer.produce("t", bytes(100_000), on_delivery=lambda error, _: verdicts.append(error))
    wait_until(lambda: bool(producer.poll(0)) or len(verdicts) > 1, "some of them are on their way")
    process = broker.ask_to_stop()
    assert producer.flush(PATIENCE_S) == 0
    assert process.wait(PATIENCE_S) == 0
    broker.kill()
    broker.start()
    acknowledged = sum(error is None for error in verdicts)
    admin_end = _end(broker.address)
    assert acknowledged <= admin_end <= 21


def _end(address: str) -> int:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": address, "group.id": "x", "log_level": 0})
    try:
        return int(consumer.get_watermark_offsets(TopicPartition("t", 0), PATIENCE_S)[1])
    finally:
        consumer.close()
