"""Each client reads from every position, waits for what is not there yet, and follows many partitions."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.interop.driver import CODECS, EARLIEST, LATEST, Code, Record, Refused, Unfinished, contents
from tests.interop.samples import AWKWARD


@pytest.mark.needs("consume")
def test_from_the_beginning_from_an_offset_and_from_inside_a_batch(
    client: Any, reference: Any, topic: str
) -> None:
    for first in (0, 10, 20):
        reference.produce(topic, [Record(b"k", b"%d" % n) for n in range(first, first + 10)], codec="lz4")
    for start, expected in ((EARLIEST, 0), (0, 0), (10, 10), (17, 17), (29, 29)):
        got = client.consume(topic, start, 30 - expected)
        assert [record.offset for record in got] == list(range(expected, 30))
        assert [record.value for record in got] == [b"%d" % n for n in range(expected, 30)]


@pytest.mark.needs("consume")
def test_from_the_end_sees_only_what_comes_later(client: Any, reference: Any, topic: str) -> None:
    reference.produce(topic, [Record(b"k", b"old")] * 5)
    stop = threading.Event()

    def keep_writing() -> None:
        # The client looks up the end at a moment of its own: something new has to come after any moment.
        while not stop.wait(0.1):
            reference.produce(topic, [Record(b"k", b"new")])

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(keep_writing)
        try:
            got = client.consume(topic, LATEST, 2)
        finally:
            stop.set()
        writing.result()
    assert [record.value for record in got] == [b"new", b"new"]
    assert got[0].offset >= 5


@pytest.mark.needs("consume")
def test_an_offset_beyond_the_end_is_out_of_range(client: Any, reference: Any, topic: str) -> None:
    reference.produce(topic, [Record(b"k", b"v")])
    with pytest.raises(Refused) as refusal:
        client.consume(topic, 1_000, 1)
    assert refusal.value.code == Code.OFFSET_OUT_OF_RANGE


@pytest.mark.needs("consume")
def test_an_idle_consumer_gets_a_record_soon_after_it_is_written(
    client: Any, reference: Any, topic: str
) -> None:
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(client.consume, topic, 0, 1)
        time.sleep(1.0)  # by now its fetch waits at the broker
        assert not reading.done()
        reference.produce(topic, [Record(b"k", b"at last")])
        assert contents(reading.result(timeout=5)) == [(b"k", b"at last", ())]


@pytest.mark.needs("consume", "takes_many")
def test_fifty_partitions_over_many_fetches_of_one_session(
    client: Any, reference: Any, make_topic: Any
) -> None:
    topic = make_topic(partitions=50)
    waves = 4
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(client.consume, topic, 0, 50 * waves, range(50))
        for wave in range(waves):
            # A fetch session names only the partitions that changed, so each wave changes others first.
            order = [(partition + 13 * wave) % 50 for partition in range(50)]
            for part in (order[:7], order[7:]):
                reference.produce(topic, [Record(b"%d" % p, b"%d" % wave, partition=p) for p in part])
                time.sleep(0.2)
        got = reading.result(timeout=30)
    for partition in range(50):
        mine = [record for record in got if record.partition == partition]
        assert [record.offset for record in mine] == list(range(waves))
        assert contents(mine) == [(b"%d" % partition, b"%d" % wave, ()) for wave in range(waves)]


@pytest.mark.needs("consume")
def test_many_large_records_come_in_several_fetches(client: Any, reference: Any, topic: str) -> None:
    records = [Record(b"%d" % number, bytes([number]) * 700_000) for number in range(12)]
    reference.produce(topic, records)
    assert contents(client.consume(topic, EARLIEST, 12)) == contents(records)


@pytest.mark.needs("consume")
def test_timestamps_and_their_type_are_read(client: Any, reference: Any, topic: str) -> None:
    stamp = int(time.time() * 1000) - 12_345
    reference.produce(topic, [Record(b"k", b"v", timestamp=stamp)])
    assert client.consume(topic, EARLIEST, 1)[0].timestamp == stamp


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.needs("offset_for_time")
def test_offsets_by_time(client: Any, reference: Any, topic: str, codec: str) -> None:
    base = int(time.time() * 1000) - 100_000
    for batch in range(3):
        stamps = [base + 1_000 * (10 * batch + n) for n in range(10)]
        reference.produce(topic, [Record(b"k", b"v" * 50, timestamp=stamp) for stamp in stamps], codec=codec)
    assert client.offset_for_time(topic, 0) == 0
    assert client.offset_for_time(topic, base) == 0
    assert client.offset_for_time(topic, base + 1) == 1
    assert client.offset_for_time(topic, base + 15_000) == 15
    assert client.offset_for_time(topic, base + 15_500) == 16
    assert client.offset_for_time(topic, base + 29_000) == 29
    assert client.offset_for_time(topic, base + 29_001) is None


@pytest.mark.needs("offset_for_time")
def test_the_first_record_at_or_after_a_time_when_times_go_backwards(
    client: Any, reference: Any, topic: str
) -> None:
    base = int(time.time() * 1000) - 100_000
    for stamp in (5_000, 1_000, 9_000, 2_000):
        reference.produce(topic, [Record(b"k", b"v", timestamp=base + stamp)])
    assert client.offset_for_time(topic, base + 1_000) == 0
    assert client.offset_for_time(topic, base + 6_000) == 2
    assert client.offset_for_time(topic, base + 9_001) is None


@pytest.mark.needs("offset_of_newest_timestamp")
def test_the_offset_of_the_newest_timestamp(client: Any, reference: Any, topic: str) -> None:
    assert client.offset_of_newest_timestamp(topic) is None
    base = int(time.time() * 1000) - 100_000
    reference.produce(topic, [Record(b"k", b"v", timestamp=base + stamp) for stamp in (1_000, 9_000, 2_000)])
    reference.produce(topic, [Record(b"k", b"v", timestamp=base + stamp) for stamp in (3_000, 9_000)])
    assert client.offset_of_newest_timestamp(topic) == 1


@pytest.mark.needs("find_offset")
def test_earliest_and_latest_offsets(client: Any, reference: Any, topic: str) -> None:
    assert (client.find_offset(topic, EARLIEST), client.find_offset(topic, LATEST)) == (0, 0)
    reference.produce(topic, [Record(b"k", b"v")] * 7)
    reference.delete_records(topic, 4)
    assert (client.find_offset(topic, EARLIEST), client.find_offset(topic, LATEST)) == (4, 7)


@pytest.mark.needs("consume")
def test_an_empty_topic_gives_nothing(client: Any, topic: str) -> None:
    with pytest.raises(Unfinished) as nothing:
        client.consume(topic, EARLIEST, 1, patience_s=1.5)
    assert len(nothing.value.got) == 0


@pytest.mark.needs("consume")
def test_awkward_records_are_read_as_they_were_written(client: Any, reference: Any, topic: str) -> None:
    for codec in CODECS:
        reference.produce(topic, AWKWARD, codec=codec)
    got = client.consume(topic, EARLIEST, len(AWKWARD) * len(CODECS))
    assert contents(got) == contents(AWKWARD) * len(CODECS)
