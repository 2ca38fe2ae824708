"""What a batch reads, from logs in memory."""

from typing import Any

import pytest

from tests.unit.spark.fake_brokers import FakeBrokers
from tidelog.blocking.errors import NoSuchTopic
from tidelog.spark.errors import DataLoss
from tidelog.spark.source.batch_planner import batch_ranges
from tidelog.spark.source.options import read_source_options


@pytest.fixture
def brokers() -> FakeBrokers:
    made = FakeBrokers()
    made.create("t", 2)
    made.logs["t"][0].append(10, timestamp=1_000)
    made.logs["t"][0].append(10, timestamp=2_000)
    made.logs["t"][1].append(5, timestamp=1_500)
    return made


def ranges(brokers: FakeBrokers, **options: Any) -> list[tuple[int, int, int]]:
    given = {"kafka.bootstrap.servers": "a:1"} | {name: str(value) for name, value in options.items()}
    if not {"assign", "subscribePattern"} & set(options):
        given.setdefault("subscribe", "t")
    found = batch_ranges(read_source_options(given, is_stream=False), brokers)  # type: ignore[arg-type]
    assert {each.topic_id for each in found} <= {brokers.ids["t"]}
    return [(each.partition.partition, each.start, each.end) for each in found]


def test_everything_by_default(brokers: FakeBrokers) -> None:
    brokers.logs["t"][0].start = 3
    assert ranges(brokers) == [(0, 3, 20), (1, 0, 5)]


def test_from_offsets_to_offsets(brokers: FakeBrokers) -> None:
    start, end = '{"t":{"0":4,"1":-2}}', '{"t":{"0":-1,"1":3}}'
    assert ranges(brokers, startingOffsets=start, endingOffsets=end) == [(0, 4, 20), (1, 0, 3)]


def test_from_a_time_to_a_time(brokers: FakeBrokers) -> None:
    assert ranges(brokers, startingTimestamp=1_200, endingTimestamp=1_800) == [(1, 0, 5)]
    times = '{"t":{"0":1500,"1":1500}}'
    assert ranges(brokers, startingOffsetsByTimestamp=times) == [(0, 10, 20), (1, 0, 5)]
    assert ranges(brokers, endingOffsetsByTimestamp=times) == [(0, 0, 10)]


def test_some_partitions_only(brokers: FakeBrokers) -> None:
    assert ranges(brokers, assign='{"t":[1]}') == [(1, 0, 5)]


def test_a_start_behind_the_end_reads_nothing(brokers: FakeBrokers) -> None:
    assert ranges(brokers, startingOffsets='{"t":{"0":99,"1":5}}') == []


def test_more_than_there_is(brokers: FakeBrokers) -> None:
    end = '{"t":{"0":30,"1":-1}}'
    with pytest.raises(DataLoss, match="t-0: endingOffsets is 30, and the log ends at 20"):
        ranges(brokers, endingOffsets=end)
    assert ranges(brokers, endingOffsets=end, failOnDataLoss="false") == [(0, 0, 20), (1, 0, 5)]


def test_nothing_matches(brokers: FakeBrokers) -> None:
    assert ranges(brokers, subscribePattern="none.*") == []
    with pytest.raises(NoSuchTopic, match="there is no topic nope"):
        ranges(brokers, subscribe="nope")
