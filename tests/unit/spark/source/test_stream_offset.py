"""A query's place in the log, as text in Spark's checkpoint."""

import json

from tidelog.blocking.cluster import TopicPartition
from tidelog.spark.source.stream_offset import StreamOffset

A, B = bytes([1]) * 16, bytes([2]) * 16


def place(offset: int, topic_id: bytes = A) -> StreamOffset:
    return StreamOffset({TopicPartition("t", 0): offset}, {"t": topic_id})


def test_reads_what_it_wrote() -> None:
    first = StreamOffset({TopicPartition("t", 10): 3, TopicPartition("t", 2): 4}, {"t": A})
    end = StreamOffset({TopicPartition("t", 10): 5, TopicPartition("a", 0): 1}, {"t": A, "a": B}, first)
    assert StreamOffset.from_json(json.loads(json.dumps(end.to_json()))) == end


def test_the_same_place_is_the_same_text() -> None:
    one = StreamOffset({TopicPartition("b", 1): 1, TopicPartition("a", 0): 2, TopicPartition("b", 0): 3})
    other = StreamOffset({TopicPartition("b", 0): 3, TopicPartition("b", 1): 1, TopicPartition("a", 0): 2})
    assert (
        json.dumps(one.to_json()) == json.dumps(other.to_json()) == '{"a": {"0": 2}, "b": {"0": 3, "1": 1}}'
    )


def test_reads_the_checkpoint_of_sparks_kafka_source() -> None:
    assert StreamOffset.from_json('{"t":{"0":23,"1":7}}').offsets == {
        TopicPartition("t", 0): 23,
        TopicPartition("t", 1): 7,
    }


def test_tells_a_topic_from_a_later_one_of_its_name() -> None:
    assert place(1).is_recreated("t", place(5, B))
    assert not place(1).is_recreated("t", place(5))
    assert not StreamOffset(place(1).offsets).is_recreated("t", place(5)), "an old checkpoint knows no ids"
