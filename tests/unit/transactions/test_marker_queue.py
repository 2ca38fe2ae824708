from tests.rigs.transactions.coordinator import A0, A1, B0
from tidelog.base.errors import ErrorCode as E
from tidelog.transactions.marker import Marker, MarkersToWrite
from tidelog.transactions.marker_queue import MarkerQueue, MarkerResult
from tidelog.transactions.transaction import Identity, TopicPartition

ONE = Marker("one", Identity(1, 0), True, 5, 2)
TWO = Marker("two", Identity(2, 0), False, 5, 2)


class Leaders(dict[TopicPartition, int | None]):
    def __call__(self, partition: TopicPartition) -> int | None:
        return self[partition]


LEADERS = Leaders({A0: 1, A1: 2, B0: 1})


def ok(marker: Marker, *partitions: TopicPartition) -> list[MarkerResult]:
    return [MarkerResult(marker, one, E.NONE) for one in partitions]


def test_a_transaction_is_done_when_every_partition_has_its_marker() -> None:
    queue = MarkerQueue()
    queue.add(7, MarkersToWrite(ONE, (A0, A1, B0)))
    assert queue.take(LEADERS, 0.0) == {1: {ONE: [A0, B0]}, 2: {ONE: [A1]}}
    queue.answered(1, ok(ONE, A0, B0), 0.0)
    assert queue.take_done() == []
    assert len(queue) == 1
    queue.answered(2, ok(ONE, A1), 0.0)
    assert queue.take_done() == [(7, ONE)]
    assert queue.take_done() == []
    assert len(queue) == 0
    assert queue.next_deadline is None


def test_a_broker_has_one_request_at_a_time_and_the_rest_shares_the_next() -> None:
    queue = MarkerQueue()
    queue.add(7, MarkersToWrite(ONE, (A0,)))
    assert queue.take(LEADERS, 0.0) == {1: {ONE: [A0]}}
    queue.add(7, MarkersToWrite(TWO, (A0, B0)))
    assert queue.take(LEADERS, 0.0) == {}
    queue.answered(1, ok(ONE, A0), 0.0)
    assert queue.take(LEADERS, 0.0) == {1: {TWO: [A0, B0]}}


def test_what_was_not_written_is_tried_again_where_the_leader_is_then() -> None:
    queue = MarkerQueue()
    queue.add(7, MarkersToWrite(ONE, (A0, B0)))
    queue.take(LEADERS, 0.0)
    queue.answered(1, [MarkerResult(ONE, A0, E.NOT_LEADER_OR_FOLLOWER), MarkerResult(ONE, B0, E.NONE)], 0.0)
    assert queue.take(LEADERS, 0.05) == {}
    assert queue.next_deadline == 0.1
    assert queue.take(Leaders({A0: 3}), 0.1) == {3: {ONE: [A0]}}
    queue.answered(3, ok(ONE, A0), 0.2)
    assert queue.take_done() == [(7, ONE)]


def test_no_answer_and_no_mention_mean_another_try() -> None:
    queue = MarkerQueue()
    queue.add(7, MarkersToWrite(ONE, (A0, B0)))
    queue.take(LEADERS, 0.0)
    queue.failed(1, 1.0)
    assert queue.take(LEADERS, 2.0) == {1: {ONE: [A0, B0]}}
    queue.answered(1, ok(ONE, B0), 2.0)
    assert queue.take(LEADERS, 3.0) == {1: {ONE: [A0]}}


def test_a_partition_without_a_leader_waits_and_one_that_is_gone_does_not_for_long() -> None:
    queue = MarkerQueue()
    queue.add(7, MarkersToWrite(ONE, (A0, B0)))
    assert queue.take(Leaders({A0: -1, B0: None}), 0.0) == {}
    assert queue.take_done() == []
    assert queue.take(Leaders({A0: None, B0: None}), 1.0) == {}
    assert queue.take(Leaders({A0: 1, B0: None}), 4.9) == {1: {ONE: [A0]}}
    queue.answered(1, ok(ONE, A0), 4.9)
    assert queue.take_done() == [], "the metadata may be behind"
    assert queue.take(Leaders({B0: None}), 5.1) == {}
    assert queue.take_done() == [(7, ONE)]


def test_a_fenced_coordinator_goes_on_slowly() -> None:
    queue = MarkerQueue()
    queue.add(7, MarkersToWrite(ONE, (A0,)))
    queue.take(LEADERS, 0.0)
    queue.answered(1, [MarkerResult(ONE, A0, E.TRANSACTION_COORDINATOR_FENCED)], 0.0)
    assert queue.next_deadline == 1.0


def test_a_shard_that_moved_away_takes_its_markers_along() -> None:
    queue = MarkerQueue()
    queue.add(7, MarkersToWrite(ONE, (A0, A1)))
    queue.add(8, MarkersToWrite(TWO, (A0,)))
    queue.take(LEADERS, 0.0)
    queue.add(7, MarkersToWrite(ONE._replace(transactional_id="three"), (A0,)))
    queue.take(LEADERS, 0.0)
    queue.drop_shard(7)
    queue.answered(1, ok(ONE, A0) + ok(TWO, A0), 0.0)
    queue.answered(2, (), 0.0)
    assert queue.take(LEADERS, 10.0) == {}
    assert queue.take_done() == [(8, TWO)]
    assert len(queue) == 0


def test_the_same_marker_twice_is_one() -> None:
    queue = MarkerQueue()
    queue.add(7, MarkersToWrite(ONE, (A0,)))
    queue.add(7, MarkersToWrite(ONE, (A0,)))
    assert queue.take(LEADERS, 0.0) == {1: {ONE: [A0]}}


def test_without_partitions_there_is_nothing_to_do() -> None:
    queue = MarkerQueue()
    queue.add(7, MarkersToWrite(ONE, ()))
    assert queue.take_done() == [(7, ONE)]
