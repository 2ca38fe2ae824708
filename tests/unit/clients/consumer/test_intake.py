"""Messages come out in order, errors in their place, paused partitions not at all."""

from typing import Any

import pytest
from confluent_kafka import KafkaError
from confluent_kafka import Message as Raw

from tidelog import DeserializationError, OffsetOutOfRange, TimestampType, TopicPartition
from tidelog.clients.consumer.intake import Intake
from tidelog.clients.serializers import bytes_deserializer, text_deserializer


def raw(partition: int, offset: int, value: bytes = b"v") -> Any:
    return Raw(
        topic="t",
        partition=partition,
        offset=offset,
        key=None,
        value=value,
        timestamp=(1, 99),
        headers=[("h", b"1")],
    )


def failure(code: int) -> Any:
    return Raw(topic="t", partition=0, error=KafkaError(code))


def intake(*messages: Any) -> Intake:
    made = Intake(bytes_deserializer, text_deserializer)
    made.add(messages)
    return made


def offsets(messages: list[Any]) -> list[tuple[int, int]]:
    return [(message.partition, message.offset) for message in messages]


def test_a_message_has_everything() -> None:
    [message] = intake(raw(2, 5)).take(10)
    assert message.topic_partition == TopicPartition("t", 2)
    assert (message.offset, message.key, message.value) == (5, None, "v")
    assert (message.timestamp, message.timestamp_type) == (99, TimestampType.CREATE_TIME)
    assert message.headers == (("h", b"1"),)
    assert message.header("h") == b"1"
    assert message.header("x") is None


def test_the_limit_holds_and_nothing_is_lost() -> None:
    waiting = intake(*(raw(0, offset) for offset in range(5)))
    assert offsets(waiting.take(2)) == [(0, 0), (0, 1)]
    assert offsets(waiting.take(10)) == [(0, 2), (0, 3), (0, 4)]
    assert waiting.take(10) == []


def test_an_error_waits_until_the_messages_before_it_are_out() -> None:
    waiting = intake(raw(0, 0), failure(KafkaError._AUTO_OFFSET_RESET), raw(1, 0))
    assert offsets(waiting.take(10)) == [(0, 0)]
    with pytest.raises(OffsetOutOfRange):
        waiting.take(10)
    assert offsets(waiting.take(10)) == [(1, 0)]


def test_a_message_that_cannot_be_read_is_raised_once_and_passed_over() -> None:
    waiting = intake(raw(0, 0), raw(0, 1, b"\xff"), raw(0, 2))
    assert offsets(waiting.take(10)) == [(0, 0)]
    with pytest.raises(DeserializationError) as caught:
        waiting.take(10)
    assert caught.value.offset == 1
    assert offsets(waiting.take(10)) == [(0, 2)]


def test_the_end_of_a_partition_is_no_error() -> None:
    assert offsets(intake(failure(KafkaError._PARTITION_EOF), raw(0, 0)).take(10)) == [(0, 0)]


def test_paused_partitions_wait_and_come_first_after_that() -> None:
    waiting = intake(raw(0, 0), raw(1, 0), raw(0, 1))
    waiting.pause([TopicPartition("t", 0)])
    assert offsets(waiting.take(10)) == [(1, 0)]
    waiting.add([raw(1, 1), raw(0, 2)])
    waiting.resume([TopicPartition("t", 0)])
    assert offsets(waiting.take(10)) == [(0, 0), (0, 1), (1, 1), (0, 2)]


def test_dropping_forgets_waiting_and_paused_ones() -> None:
    waiting = intake(raw(0, 0), raw(1, 0))
    waiting.pause([TopicPartition("t", 0)])
    assert offsets(waiting.take(1)) == [(1, 0)]
    waiting.add([raw(0, 1), raw(1, 1)])
    waiting.drop([TopicPartition("t", 0)])
    waiting.resume([TopicPartition("t", 0)])
    assert offsets(waiting.take(10)) == [(1, 1)]
