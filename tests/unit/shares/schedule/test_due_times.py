"""Headers and the topic's delay become times; what no user can have meant changes nothing."""

import random

import pytest

from tidelog.shares.schedule.due_times import ALL_DUE, DELAY_MS_MAX, Due, DueTimes, TopicDelay, due_times
from tidelog.wire.batch import read_header
from tidelog.wire.compression import Codec
from tidelog.wire.record import Headers, Record, write_batch
from tidelog.wire.varint import encode_varint

NOW = 1_800_000_000_000
HOUR = 3_600_000
HEADERS = TopicDelay()


def of(
    *records: tuple[int, Headers], topic: TopicDelay = HEADERS, codec: int = Codec.NONE, base: int = 100
) -> DueTimes:
    """The times of records that are written at `NOW` plus a few milliseconds."""
    batch = write_batch(
        [Record(base + i, NOW + at, b"k", b"v", headers) for i, (at, headers) in enumerate(records)],
        base_offset=base,
        codec=codec,
    )
    return due_times(bytes(batch), read_header(batch), topic, NOW)


def at(text: str) -> Headers:
    return [("tidelog-deliver-at", text.encode())]


def delay(text: str) -> Headers:
    return [("tidelog-delay", text.encode())]


@pytest.mark.parametrize("codec", list(Codec))
def test_headers_of_every_codec(codec: int) -> None:
    times = of((0, at(str(NOW + 9))), (3, delay("50")), (0, []), (0, [("x", None)]), codec=codec)
    assert times == DueTimes((Due(NOW + 9, 100, 100), Due(NOW + 53, 101, 101)))


def test_neighbours_with_one_time_are_one_range() -> None:
    late = at(str(NOW + HOUR))
    times = of((0, late), (0, late), (0, []), (0, late), (0, at(str(NOW + 5))))
    assert times.later == (
        Due(NOW + HOUR, 100, 101),
        Due(NOW + HOUR, 103, 103),
        Due(NOW + 5, 104, 104),
    )


@pytest.mark.parametrize("headers", [at("0"), at(str(NOW)), at(str(NOW - 1)), delay("0"), delay("00")])
def test_a_time_in_the_past_is_no_mistake(headers: Headers) -> None:
    assert of((0, headers)) == ALL_DUE


@pytest.mark.parametrize(
    "headers",
    [
        *(at(text) for text in ("", "soon", "-5", "1.5", "+7", " 7", "1e3", "9" * 19, "\u0663")),
        *(delay(text) for text in ("", "never", "-1", "9" * 400)),
        at(str(NOW + DELAY_MS_MAX + 1)),
        at(str((NOW + HOUR) * 1000)),
        delay(str(100 * 365 * 24 * HOUR)),
        [("tidelog-deliver-at", None)],
        [("tidelog-delay", None)],
    ],
)
def test_a_header_without_a_sensible_time_is_counted_and_holds_nothing_back(headers: Headers) -> None:
    times = of((0, []), (0, headers))
    assert times.later == ()
    assert times.bad_headers == 1
    assert f"{headers[0][0]} of the record at offset 101 is" in times.bad_example


def test_a_year_ahead_is_the_limit() -> None:
    assert of((0, delay(str(DELAY_MS_MAX)))).later == (Due(NOW + DELAY_MS_MAX, 100, 100),)


def test_a_bad_header_leaves_the_other_and_the_topic_in_force() -> None:
    assert of((0, at("soon") + delay("7"))).later == (Due(NOW + 7, 100, 100),)
    times = of((0, at("soon")), topic=TopicDelay(HOUR))
    assert times.later == (Due(NOW + HOUR, 100, 100),)
    assert times.bad_headers == 1


def test_the_later_of_both_headers_and_the_last_of_a_repeated_header() -> None:
    assert of((0, at(str(NOW + 5)) + delay("9"))).later == (Due(NOW + 9, 100, 100),)
    assert of((0, at(str(NOW + 9)) + delay("5"))).later == (Due(NOW + 9, 100, 100),)
    assert of((0, delay("9") + delay("3"))).later == (Due(NOW + 3, 100, 100),)


def test_names_and_values_that_only_look_like_the_headers() -> None:
    batch = write_batch(
        [
            Record(0, NOW, b"tidelog-delay", b"\x1atidelog-delay\x02tidelog-deliver-at", []),
            Record(1, NOW, None, None, [("x", b"tidelog-delay"), ("tidelog-delays", b"5")]),
            Record(2, NOW, None, None, [("Tidelog-Delay", b"5"), ("tidelog-delay", b"7")]),
        ]
    )
    assert due_times(bytes(batch), read_header(batch), HEADERS, NOW).later == (Due(NOW + 7, 2, 2),)


def test_the_topics_delay_counts_from_timestamps() -> None:
    topic = TopicDelay(HOUR)
    assert of((0, []), (5, []), topic=topic).later == (Due(NOW + HOUR + 5, 100, 101),)
    assert of((0, []), (6, []), topic=topic).later == (
        Due(NOW + HOUR, 100, 100),
        Due(NOW + HOUR + 6, 101, 101),
    )
    assert of((-HOUR, []), (-HOUR, []), topic=topic) == ALL_DUE
    assert of((-HOUR, []), (0, []), topic=topic).later == (Due(NOW + HOUR, 101, 101),)


def test_a_header_goes_before_the_topics_delay() -> None:
    times = of((0, delay("0")), (0, []), (0, delay("5")), topic=TopicDelay(HOUR))
    assert times.later == (Due(NOW + HOUR, 101, 101), Due(NOW + 5, 102, 102))
    assert of((0, delay("5")), topic=TopicDelay(0, reads_headers=False)) == ALL_DUE
    assert of((0, delay("5")), topic=TopicDelay(HOUR, reads_headers=False)).later[0].due_ms == NOW + HOUR


def test_log_append_time_counts_for_every_record_of_the_batch() -> None:
    records = [Record(i, NOW - 9 * HOUR, None, None, []) for i in range(3)]
    records.append(Record(3, NOW - 9 * HOUR, None, None, delay("10")))
    batch = bytes(write_batch(records, log_append_time=NOW - 2))
    times = due_times(batch, read_header(batch), TopicDelay(5), NOW)
    assert times.later == (Due(NOW + 3, 0, 2), Due(NOW + 8, 3, 3))
    assert due_times(batch, read_header(batch), TopicDelay(5, reads_headers=False), NOW).later == (
        Due(NOW + 3, 0, 3),
    )


def test_a_timestamp_a_hundred_years_ahead_holds_nothing_back() -> None:
    century = 100 * DELAY_MS_MAX
    assert of((century, []), topic=TopicDelay(5)) == ALL_DUE
    assert of((century, []), (0, []), topic=TopicDelay(5)).later == (Due(NOW + 5, 101, 101),)


def test_gaps_of_compaction() -> None:
    batch = bytes(
        write_batch([Record(offset, NOW, None, None, delay("5")) for offset in (3, 4, 9)], base_offset=2)
    )
    assert due_times(batch, read_header(batch), HEADERS, NOW).later == (
        Due(NOW + 5, 3, 4),
        Due(NOW + 5, 9, 9),
    )


def test_control_batches_and_views() -> None:
    batch = write_batch([Record(0, NOW, b"tidelog-delay", None, delay("5"))], control=True)
    assert due_times(bytes(batch), read_header(batch), TopicDelay(5), NOW) == ALL_DUE
    batch = write_batch([Record(0, NOW, None, None, delay("5"))])
    for kind in (memoryview, bytes, bytearray):
        assert due_times(kind(batch), read_header(batch), HEADERS, NOW).later == (Due(NOW + 5, 0, 0),)


def test_damaged_records_are_delivered_for_clients_to_refuse() -> None:
    source = random.Random(7)
    whole = bytes(write_batch([Record(i, NOW, b"k", b"v" * 50, delay("5")) for i in range(8)]))
    for _ in range(2000):
        batch = bytearray(whole)
        for _ in range(source.randint(1, 4)):
            batch[source.randrange(61, len(batch))] = source.randrange(256)
        times = due_times(bytes(batch), read_header(batch), HEADERS, NOW)
        assert len(times.later) <= 8


def test_a_count_of_headers_beyond_all_bounds_is_not_walked() -> None:
    body = b"\0\0\0\1\1" + encode_varint(2**31 - 1) + b"\1\1" * 9 + b"tidelog-delay"
    batch = write_batch([Record(0, NOW, None, None, [])])
    header = read_header(batch)
    forged = bytes(batch[:61]) + encode_varint(len(body)) + body
    header = header._replace(length=len(forged) - 12)
    assert due_times(forged, header, HEADERS, NOW) == ALL_DUE
