"""The driver's side of a stream against logs in memory, whose topics go, are cut, and come back."""

from typing import Any

import pytest

from tests.unit.spark.fake_brokers import FakeBrokers
from tidelog.blocking.cluster import TopicPartition
from tidelog.blocking.errors import NoSuchTopic
from tidelog.spark.errors import DataLoss, OptionError
from tidelog.spark.source.options import read_source_options
from tidelog.spark.source.stream_offset import StreamOffset
from tidelog.spark.source.stream_planner import StreamPlanner

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def brokers() -> FakeBrokers:
    made = FakeBrokers()
    made.create("t", 2)
    made.logs["t"][0].append(10)
    made.logs["t"][1].append(30)
    return made


def planner(brokers: FakeBrokers, **options: Any) -> StreamPlanner:
    given = {"subscribe": "t", "startingOffsets": "earliest"} | options
    if "assign" in options or "subscribePattern" in options:
        del given["subscribe"]
    given = {name: str(value) for name, value in given.items()} | {"kafka.bootstrap.servers": "a:1"}
    made = read_source_options(given, is_stream=True)
    return StreamPlanner(made, brokers, now=brokers.clock, sleep=brokers.clock.sleep)  # type: ignore[arg-type]


def read(ranges: list[Any]) -> dict[TopicPartition, tuple[int, int]]:
    return {each.partition: (each.start, each.end) for each in ranges}


def test_batches_follow_each_other_without_gap(brokers: FakeBrokers) -> None:
    plan = planner(brokers)
    start = plan.initial()
    seen: dict[TopicPartition, int] = {}
    for _ in range(20):
        end = plan.latest(start, 7, None)
        if end == start:
            break
        for partition, (begin, stop) in read(plan.ranges(start, end)).items():
            assert begin == seen.get(partition, 0)
            seen[partition] = stop
        start = end
    assert seen == {T0: 10, T1: 30}


def test_where_nothing_is_new_the_place_stays_the_same_text(brokers: FakeBrokers) -> None:
    plan = planner(brokers)
    end = plan.latest(plan.initial(), None, None)
    again = plan.latest(StreamOffset.from_json(end.to_json()), None, None)
    assert again.to_json() == end.to_json()


def test_the_first_batch_run_again_begins_where_it_began(brokers: FakeBrokers) -> None:
    plan = planner(brokers, startingOffsets="latest")
    start = plan.initial()
    brokers.logs["t"][0].append(5)
    end = StreamOffset.from_json(plan.latest(start, None, None).to_json())
    brokers.logs["t"][0].append(5)
    # A crash: Spark wrote down the end of the batch, and asks a new planner for its beginning.
    reborn = planner(brokers, startingOffsets="latest")
    later = reborn.initial()
    assert later.offsets[T0] == 20
    assert read(reborn.ranges(later, end)) == {T0: (10, 15)}


def test_an_empty_first_batch_begins_where_it_ends(brokers: FakeBrokers) -> None:
    """Spark runs the first batch even when it is empty, and asks again, later, where it begins."""
    plan = planner(brokers, startingOffsets="latest")
    end = plan.latest(plan.initial(), None, None)
    brokers.logs["t"][0].append(2)
    assert read(plan.ranges(plan.initial(), end)) == {}
    assert read(plan.ranges(end, plan.latest(end, None, None))) == {T0: (10, 12)}


def test_the_newest_offsets_are_reported_with_the_lag(brokers: FakeBrokers) -> None:
    plan = planner(brokers)
    assert plan.report() is None
    plan.latest(plan.initial(), 8, None)
    report = plan.report()
    assert report is not None
    assert report["t"] == {"0": 10, "1": 30}
    assert report["@lag"] == 32


def test_few_rows_wait_but_not_for_ever(brokers: FakeBrokers) -> None:
    plan = planner(brokers, minOffsetsPerTrigger=100, maxTriggerDelay="60s")
    end = plan.latest(plan.initial(), None, 100)
    assert end.offsets == {T0: 10, T1: 30}, "the first batch does not wait"
    brokers.logs["t"][0].append(5)
    brokers.clock.now += 59
    assert plan.latest(end, None, 100) == end
    brokers.clock.now += 2
    assert plan.latest(end, None, 100).offsets[T0] == 15


def test_enough_rows_do_not_wait(brokers: FakeBrokers) -> None:
    plan = planner(brokers)
    end = plan.latest(plan.initial(), None, 5)
    brokers.logs["t"][0].append(5)
    assert plan.latest(end, None, 5).offsets[T0] == 15


def test_available_now_ends_where_the_logs_ended(brokers: FakeBrokers) -> None:
    plan = planner(brokers)
    plan.freeze()
    brokers.logs["t"][0].append(100)
    start = plan.initial()
    end = plan.latest(start, None, 1_000_000)
    assert end.offsets == {T0: 10, T1: 30}, "few rows don't wait for more that will not come"
    assert plan.latest(end, None, None) == end


def test_available_now_may_begin_beyond_where_the_logs_ended(brokers: FakeBrokers) -> None:
    """Spark asks for the end first, and then, with `latest`, for the beginning."""
    plan = planner(brokers, startingOffsets="latest")
    plan.freeze()
    brokers.logs["t"][0].append(5)
    start = plan.initial()
    end = plan.latest(start, None, None)
    assert plan.ranges(start, end) == []
    assert end.offsets == {T0: 15, T1: 30}


def test_available_now_waits_for_a_topic_that_a_broker_does_not_know_yet(brokers: FakeBrokers) -> None:
    start = planner(brokers).initial()
    plan = planner(brokers, failOnDataLoss="false")
    known = brokers.logs.pop("t")
    plan.freeze()
    brokers.logs["t"] = known
    brokers.clock.now += 2
    assert read(plan.ranges(start, plan.latest(start, None, None))) == {T0: (0, 10), T1: (0, 30)}


def test_new_partitions_are_read_from_their_first_record(brokers: FakeBrokers) -> None:
    plan = planner(brokers)
    end = plan.latest(plan.initial(), None, None)
    brokers.create("grown", 3)
    brokers.logs["t"] = {**brokers.logs["t"], 2: brokers.logs["grown"][0]}
    brokers.logs["t"][2].append(4)
    brokers.clock.now += 2  # topics are looked at once a second
    later = plan.latest(end, None, None)
    assert read(plan.ranges(end, later)) == {TopicPartition("t", 2): (0, 4)}


def test_a_pattern_finds_topics_that_come_later(brokers: FakeBrokers) -> None:
    plan = planner(brokers, subscribePattern="t|new.*")
    end = plan.latest(plan.initial(), None, None)
    brokers.create("newer")
    brokers.create("other-new")
    brokers.logs["newer"][0].append(3)
    brokers.clock.now += 2
    assert plan.latest(end, None, None).offsets.keys() - end.offsets.keys() == {TopicPartition("newer", 0)}


def test_a_pattern_that_matches_nothing_yet_is_no_error(brokers: FakeBrokers) -> None:
    plan = planner(brokers, subscribePattern="none.*")
    start = plan.initial()
    assert plan.latest(start, None, None).offsets == start.offsets == {}


@pytest.mark.parametrize("fails", [True, False])
def test_a_deleted_topic(brokers: FakeBrokers, fails: bool) -> None:
    plan = planner(brokers, failOnDataLoss=str(fails).lower())
    start = plan.initial()
    brokers.delete("t")
    brokers.clock.now += 2
    end = plan.latest(start, None, None)
    assert end.offsets == {}
    if fails:
        with pytest.raises(
            DataLoss, match=r"t-0, t-1: the partition does not exist any more.*failOnDataLoss"
        ):
            plan.ranges(start, end)
    else:
        assert plan.ranges(start, end) == []


@pytest.mark.parametrize("fails", [True, False])
def test_a_topic_created_again_even_with_more_records(brokers: FakeBrokers, fails: bool) -> None:
    plan = planner(brokers, failOnDataLoss=str(fails).lower())
    start = plan.latest(plan.initial(), None, None)
    brokers.delete("t")
    brokers.create("t", 2)
    brokers.logs["t"][0].append(99)
    brokers.clock.now += 2
    end = plan.latest(start, None, None)
    if fails:
        with pytest.raises(DataLoss, match="t: the topic was deleted and created again"):
            plan.ranges(start, end)
    else:
        assert read(plan.ranges(start, end)) == {T0: (0, 99)}


@pytest.mark.parametrize("fails", [True, False])
def test_a_log_that_lost_its_end(brokers: FakeBrokers, fails: bool) -> None:
    plan = planner(brokers, failOnDataLoss=str(fails).lower())
    start = plan.latest(plan.initial(), None, None)
    brokers.logs["t"][1].end = 12
    end = plan.latest(start, None, None)
    assert end.offsets[T1] == 12
    if fails:
        with pytest.raises(DataLoss, match="t-1: the log was cut, from offset 30 to 12"):
            plan.ranges(start, end)
    else:
        assert plan.ranges(start, end) == []
        brokers.logs["t"][1].end = 15
        assert read(plan.ranges(end, plan.latest(end, None, None))) == {T1: (12, 15)}


def test_a_new_partition_that_lost_records_already(brokers: FakeBrokers) -> None:
    plan = planner(brokers)
    start = StreamOffset({T0: 10}, brokers.ids)
    brokers.logs["t"][1].start = 4
    with pytest.raises(DataLoss, match="t-1: the new partition begins at offset 4"):
        plan.ranges(start, plan.latest(start, None, None))


def test_an_end_that_goes_backwards_for_a_moment_is_asked_again(brokers: FakeBrokers) -> None:
    plan = planner(brokers)
    start = plan.latest(plan.initial(), None, None)
    brokers.logs["t"][1].end = 12

    def recover(_: float) -> None:
        brokers.logs["t"][1].end = 31

    plan._sleep = recover
    assert plan.latest(start, None, None).offsets[T1] == 31


def test_a_topic_that_never_was_is_told_with_the_command(brokers: FakeBrokers) -> None:
    with pytest.raises(NoSuchTopic, match=r"there is no topic nope\. Try: tidelog topic create nope"):
        planner(brokers, subscribe="t,nope").initial()
    with pytest.raises(NoSuchTopic, match="there is no topic t-7"):
        planner(brokers, assign='{"t":[0,7]}').initial()


def test_offsets_must_name_all_partitions(brokers: FakeBrokers) -> None:
    with pytest.raises(OptionError, match="missing: t-1; not read: x-0"):
        planner(brokers, startingOffsets='{"t":{"0":1},"x":{"0":1}}').initial()
    assert planner(brokers, startingOffsets='{"t":{"0":-1,"1":-2}}').initial().offsets == {T0: 10, T1: 0}


def test_times(brokers: FakeBrokers) -> None:
    brokers.logs["t"][0].append(5, timestamp=9_000)
    with pytest.raises(OptionError, match=r"no record in t-1 from 5000 ms on.*Strategy to latest"):
        planner(brokers, startingTimestamp=5000).initial()
    late = planner(brokers, startingTimestamp=5000, startingOffsetsByTimestampStrategy="latest")
    assert late.initial().offsets == {T0: 10, T1: 30}
    each = planner(brokers, startingOffsetsByTimestamp='{"t":{"0":5000,"1":0}}')
    assert each.initial().offsets == {T0: 10, T1: 0}
