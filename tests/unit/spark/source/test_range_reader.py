"""Reading ranges from logs in memory, with brokers that fail, move and lose."""

from collections import defaultdict
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'tidelog[spark]'")

from tests.unit.spark.fake_brokers import FakeBrokers
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.blocking.cluster import TopicPartition
from tidelog.blocking.errors import Disconnected, GaveUp
from tidelog.spark.errors import DataLoss
from tidelog.spark.source.loss import LossReport
from tidelog.spark.source.planning import OffsetRange
from tidelog.spark.source.range_reader import FetchLimits, RangeReader
from tidelog.wire.messages.fetch import FetchResponse, PartitionData


@pytest.fixture
def brokers() -> FakeBrokers:
    made = FakeBrokers()
    made.create("t", 2)
    for _ in range(5):
        made.logs["t"][0].append(10)
        made.logs["t"][1].append(3)
    return made


def part(brokers: FakeBrokers, partition: int, start: int, end: int) -> OffsetRange:
    return OffsetRange(TopicPartition("t", partition), start, end, brokers.ids["t"])


def reader(brokers: FakeBrokers, *ranges: OffsetRange, fails: bool = True) -> RangeReader:
    loss = LossReport(fails=fails)
    return RangeReader(brokers, ranges, FetchLimits(), loss, ["value", "offset"], now=brokers.clock)  # type: ignore[arg-type]


def offsets(found: RangeReader) -> dict[int, list[int]]:
    rows = defaultdict(list)
    for place, portion in found:
        assert portion.columns["value"].to_pylist() == [
            b"%d" % each for each in portion.columns["offset"].to_pylist()
        ]
        rows[place.partition] += portion.columns["offset"].to_pylist()
    return rows


def test_reads_exactly_the_ranges(brokers: FakeBrokers) -> None:
    assert offsets(reader(brokers, part(brokers, 0, 7, 33), part(brokers, 1, 2, 15))) == {
        0: list(range(7, 33)),
        1: list(range(2, 15)),
    }


def test_two_ranges_of_one_partition(brokers: FakeBrokers) -> None:
    assert offsets(reader(brokers, part(brokers, 0, 0, 5), part(brokers, 0, 20, 25))) == {
        0: [*range(5), *range(20, 25)]
    }


def test_an_empty_range_asks_nobody(brokers: FakeBrokers) -> None:
    assert offsets(reader(brokers, part(brokers, 0, 5, 5))) == {}
    assert brokers.fetches == []


@pytest.mark.parametrize(
    "trouble",
    [
        Disconnected("broken"),
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.OFFSET_NOT_AVAILABLE,
    ],
    ids=str,
)
def test_goes_on_where_it_was_after_what_passes(brokers: FakeBrokers, trouble: Exception | ErrorCode) -> None:
    found = iter(reader(brokers, part(brokers, 0, 0, 50)))
    rows = next(found)[1].columns["offset"].to_pylist()
    brokers.trouble.append(trouble)
    for _, portion in found:
        rows += portion.columns["offset"].to_pylist()
    assert rows == list(range(50))
    assert not brokers.trouble


def test_a_damaged_answer_is_asked_for_again(brokers: FakeBrokers) -> None:
    stop, whole = brokers.logs["t"][0].batches[1]
    brokers.logs["t"][0].batches[1] = (stop, whole[:-1] + bytes([whole[-1] ^ 1]))
    found = iter(reader(brokers, part(brokers, 0, 0, 50)))
    rows = next(found)[1].columns["offset"].to_pylist()
    brokers.clock.sleep = lambda seconds: brokers.logs["t"][0].batches.__setitem__(1, (stop, whole))  # type: ignore[method-assign]
    for _, portion in found:
        rows += portion.columns["offset"].to_pylist()
    assert rows == list(range(50)), "nothing skipped, nothing twice"


def test_brokers_that_stay_away_end_the_task(brokers: FakeBrokers) -> None:
    brokers.trouble.extend([Disconnected("broken")] * 500)
    with pytest.raises(GaveUp, match="no success within 60 s; the last attempt: broken"):
        offsets(reader(brokers, part(brokers, 0, 0, 50)))


def test_who_takes_rows_slowly_is_waited_for(brokers: FakeBrokers) -> None:
    """One partition fills every answer; the other has its turn only once that is read."""
    read, last = brokers._read, brokers.logs["t"][0].end

    def one_at_a_time(topic_id: bytes, asked: Any, code: ErrorCode) -> PartitionData:
        answer = read(topic_id, asked, code)
        first = brokers.fetches[-1].topics[0].partitions[0]
        if asked.partition == 1 and first.partition == 0 and first.fetch_offset < last:
            answer.records = b""
        return answer

    brokers._read = one_at_a_time  # type: ignore[method-assign]
    found = []
    for place, portion in reader(brokers, part(brokers, 0, 0, 50), part(brokers, 1, 0, 15)):
        found += [(place.partition, offset) for offset in portion.columns["offset"].to_pylist()]
        brokers.clock.sleep(100)
    assert found == [(0, offset) for offset in range(50)] + [(1, offset) for offset in range(15)]


def test_a_broker_that_has_nothing_is_not_waited_for_for_ever(brokers: FakeBrokers) -> None:
    for log in brokers.logs["t"].values():
        log.batches.clear()
    receive = brokers.receive

    def receive_late() -> FetchResponse:
        brokers.clock.sleep(0.5)
        return receive()

    brokers.receive = receive_late  # type: ignore[method-assign]
    with pytest.raises(GaveUp, match="no record from offset 0 on within 120 s"):
        offsets(reader(brokers, part(brokers, 0, 0, 50), part(brokers, 1, 0, 15)))


def test_time_that_went_well_does_not_count_as_failing(brokers: FakeBrokers) -> None:
    """The failure comes first thing after a range that took long to read."""
    rows = []
    for _, portion in reader(brokers, part(brokers, 0, 0, 10), part(brokers, 0, 20, 30)):
        rows += portion.columns["offset"].to_pylist()
        brokers.clock.sleep(1000)
        if len(brokers.fetches) == 1:
            brokers.trouble.append(Disconnected("broken"))
    assert rows == [*range(10), *range(20, 30)]
    assert not brokers.trouble


@pytest.mark.parametrize("code", [ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE])
def test_who_leads_no_more_is_left(brokers: FakeBrokers, code: ErrorCode) -> None:
    """A follower that lags may answer too. The leader is looked for again after a pause."""
    read = brokers._read

    def behind(topic_id: bytes, asked: Any, _: ErrorCode) -> PartitionData:
        answer = read(topic_id, asked, code)
        answer.records, answer.high_watermark = b"", 10
        return answer

    def found(seconds: float) -> None:
        brokers._read = read  # type: ignore[method-assign]

    brokers._read = behind  # type: ignore[method-assign]
    brokers.clock.sleep = found  # type: ignore[method-assign]
    assert offsets(reader(brokers, part(brokers, 0, 0, 50))) == {0: list(range(50))}
    assert brokers.fetches[0].topics[0].partitions[0].fetch_offset == 0


def test_what_does_not_pass_is_told(brokers: FakeBrokers) -> None:
    brokers.trouble.append(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(KafkaError, match="TOPIC_AUTHORIZATION_FAILED"):
        offsets(reader(brokers, part(brokers, 0, 0, 50)))


def test_a_reader_that_is_left_early_leaves_no_answer_behind(brokers: FakeBrokers) -> None:
    found = iter(reader(brokers, part(brokers, 0, 0, 50)))
    next(found)
    found.close()  # type: ignore[attr-defined]
    assert brokers.closed == 1


@pytest.mark.parametrize("fails", [True, False])
def test_records_that_aged_out(brokers: FakeBrokers, fails: bool) -> None:
    brokers.logs["t"][0].start = 20
    found = reader(brokers, part(brokers, 0, 5, 50), fails=fails)
    if fails:
        with pytest.raises(DataLoss, match="t-0: offsets 5 to 19 are not there any more"):
            offsets(found)
    else:
        assert offsets(found) == {0: list(range(20, 50))}


@pytest.mark.parametrize("fails", [True, False])
@pytest.mark.parametrize("start", [0, 40])
def test_a_log_that_was_cut(brokers: FakeBrokers, fails: bool, start: int) -> None:
    log = brokers.logs["t"][0]
    log.end, log.batches = 20, log.batches[:2]
    found = reader(brokers, part(brokers, 0, start, 50), fails=fails)
    if fails:
        with pytest.raises(DataLoss, match="the log was cut, it ends at 20"):
            offsets(found)
    else:
        assert offsets(found).get(0, []) == list(range(start, 20))


@pytest.mark.parametrize("fails", [True, False])
@pytest.mark.parametrize("again", [True, False])
def test_a_topic_that_is_deleted(brokers: FakeBrokers, fails: bool, again: bool) -> None:
    found = reader(brokers, part(brokers, 0, 0, 50), part(brokers, 1, 0, 15), fails=fails)
    brokers.delete("t")
    if again:
        brokers.create("t", 2)
        brokers.logs["t"][0].append(500)
    if fails:
        with pytest.raises(DataLoss, match="created again" if again else "does not exist any more"):
            offsets(found)
    else:
        assert offsets(found) == {}
