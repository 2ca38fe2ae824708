"""What each client writes arrives as it was written; what must not be is refused with the right code."""

import random
import time
from typing import Any

import pytest

from tests.interop.driver import ACKS, CODECS, LATEST, Code, Record, Refused, contents
from tests.interop.samples import AWKWARD, writable_by
from tests.interop.waiting import eventually


@pytest.mark.parametrize("acks", ACKS)
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.needs("produce")
def test_awkward_records_survive_every_codec_and_acks(
    client: Any, reference: Any, topic: str, codec: str, acks: str
) -> None:
    records = writable_by(client, AWKWARD)
    client.produce(topic, records, codec=codec, acks=acks)
    assert contents(reference.consume(topic, 0, len(records))) == contents(records)


@pytest.mark.parametrize("codec", ["none", "zstd"])
@pytest.mark.needs("produce")
def test_one_byte_and_900_kilobytes(client: Any, reference: Any, topic: str, codec: str) -> None:
    noise = random.Random(900).randbytes(900_000)  # nothing that a codec could shrink
    records = [Record(b"a", b"1"), Record(b"b", noise), Record(b"c", b"2")]
    client.produce(topic, records, codec=codec)
    assert contents(reference.consume(topic, 0, 3)) == contents(records)


@pytest.mark.parametrize("codec", ["none", "lz4"])
@pytest.mark.needs("produce", "takes_many")
def test_ten_thousand_small_records_keep_their_order(
    client: Any, reference: Any, topic: str, codec: str
) -> None:
    records = [Record(b"%d" % number, b"record number %d" % number) for number in range(10_000)]
    assert client.produce(topic, records, codec=codec) == list(range(10_000))
    assert contents(reference.consume(topic, 0, 10_000)) == contents(records)


@pytest.mark.needs("produce", "takes_many")
def test_offsets_continue_where_the_last_batch_ended(client: Any, topic: str) -> None:
    for first in (0, 3, 6):
        offsets = client.produce(topic, [Record(b"k", b"v")] * 3, codec="gzip")
        assert offsets == [first, first + 1, first + 2]


@pytest.mark.needs("produce")
def test_each_partition_has_its_own_offsets(client: Any, reference: Any, make_topic: Any) -> None:
    topic = make_topic(partitions=3)
    records = [Record(b"k", b"%d" % number, partition=number % 3) for number in range(12)]
    client.produce(topic, records)
    for partition in range(3):
        got = reference.consume(topic, 0, 4, [partition])
        assert [record.offset for record in got] == [0, 1, 2, 3]
        assert [record.value for record in got] == [b"%d" % number for number in range(partition, 12, 3)]


@pytest.mark.needs("produce", "takes_many")
def test_the_idempotent_producer_with_many_requests_in_flight(
    client: Any, reference: Any, make_topic: Any
) -> None:
    topic = make_topic(partitions=2)
    records = [Record(b"k", b"%05d" % number, partition=number % 2) for number in range(3_000)]
    client.produce(topic, records, idempotent=True, small_batches=True)
    for partition in range(2):
        got = reference.consume(topic, 0, 1_500, [partition])
        assert [record.value for record in got] == [b"%05d" % number for number in range(partition, 3_000, 2)]
        assert reference.find_offset(topic, LATEST, partition) == 1_500, "no record was written twice"


@pytest.mark.needs("produce", "takes_many")
def test_timestamps_are_the_producers_own(client: Any, reference: Any, topic: str) -> None:
    now = int(time.time() * 1000)
    stamps = [now - 5_000, now - 9_000, now]
    client.produce(topic, [Record(b"k", b"v", timestamp=stamp) for stamp in stamps])
    got = reference.consume(topic, 0, 3)
    assert [record.timestamp for record in got] == stamps
    assert not any(record.append_time for record in got)


@pytest.mark.parametrize("codec", ["none", "snappy"])
@pytest.mark.needs("produce", "takes_many")
def test_log_append_time_is_the_brokers_clock(
    client: Any, reference: Any, make_topic: Any, codec: str
) -> None:
    topic = make_topic(message_timestamp_type="LogAppendTime")
    before = int(time.time() * 1000)
    client.produce(topic, [Record(b"k", b"v", timestamp=before - 60_000)] * 3, codec=codec)
    after = int(time.time() * 1000)
    got = reference.consume(topic, 0, 3)
    assert all(record.append_time for record in got)
    assert all(before <= record.timestamp <= after for record in got)


@pytest.mark.parametrize("topic_codec", ["gzip", "zstd", "uncompressed"])
@pytest.mark.needs("produce")
def test_a_topic_with_a_codec_of_its_own(
    client: Any, reference: Any, make_topic: Any, topic_codec: str
) -> None:
    topic = make_topic(compression_type=topic_codec)
    records = writable_by(client, AWKWARD)
    client.produce(topic, records, codec="lz4")
    assert contents(reference.consume(topic, 0, len(records))) == contents(records)


@pytest.mark.needs("produce")
def test_a_message_larger_than_the_default_limit_is_refused(client: Any, reference: Any, topic: str) -> None:
    with pytest.raises(Refused) as refusal:
        client.produce(topic, [Record(b"k", bytes(1_100_000))])
    assert refusal.value.code == Code.MESSAGE_TOO_LARGE
    assert reference.find_offset(topic, LATEST) == 0


@pytest.mark.needs("produce")
def test_a_topic_can_take_larger_messages(client: Any, reference: Any, make_topic: Any) -> None:
    topic = make_topic(max_message_bytes="4000000")
    record = Record(b"k", bytes(3_000_000))
    client.produce(topic, [record])
    assert contents(reference.consume(topic, 0, 1)) == contents([record])


@pytest.mark.needs("produce")
def test_a_compacted_topic_refuses_a_record_without_a_key(
    client: Any, reference: Any, make_topic: Any
) -> None:
    topic = make_topic(cleanup_policy="compact")
    with pytest.raises(Refused) as refusal:
        client.produce(topic, [Record(None, b"no key")])
    assert refusal.value.code == (
        -1 if client.name == "aiokafka" else Code.INVALID_RECORD
    )  # it has no such code
    client.produce(topic, [Record(b"k", b"v")])
    assert reference.find_offset(topic, LATEST) == 1


@pytest.mark.needs("produce")
def test_an_unknown_topic_is_created_on_first_use(client: Any, reference: Any, topic_name: str) -> None:
    client.produce(topic_name, [Record(b"k", b"v")])
    eventually(lambda: len(reference.describe_topic(topic_name)) == 1)
    assert contents(reference.consume(topic_name, 0, 1)) == [(b"k", b"v", ())]
    reference.delete_topic(topic_name)
