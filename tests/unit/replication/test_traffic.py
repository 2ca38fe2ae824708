"""Counters of traffic go on over changes of leaders and over topics that come and go, within a limit."""

from tests.rigs.log import NOW_MS
from tests.unit.replication.conftest import Trio
from tidelog.replication.traffic import OTHERS, TrafficBook
from tidelog.wire.record import ControlType, Record, write_batch, write_control_batch


def test_a_leader_counts_bytes_and_records_and_a_follower_what_it_copies(trio: Trio) -> None:
    trio.start()
    batch = write_batch([Record(0, NOW_MS, None, b"a"), Record(1, NOW_MS, None, b"b")])
    trio[1].produce(memoryview(bytearray(batch)), all_replicas=False, now_ms=NOW_MS)
    trio.fetch(2)
    leader, follower = trio[1].traffic, trio[2].traffic
    assert (leader.received_bytes, leader.received_records, leader.copied_bytes) == (len(batch), 2, 0)
    assert (follower.received_bytes, follower.received_records) == (0, 0)
    assert follower.copied_bytes == len(batch)


def test_markers_of_transactions_are_bytes_but_no_records(trio: Trio) -> None:
    trio.start()
    marker = write_control_batch(
        ControlType.ABORT, producer_id=7, producer_epoch=0, coordinator_epoch=0, timestamp=NOW_MS
    )
    trio[1].append_own(marker, now_ms=NOW_MS)
    assert trio[1].traffic.received_bytes == len(marker)
    assert trio[1].traffic.received_records == 0


def test_a_topic_that_comes_back_goes_on_counting() -> None:
    book = TrafficBook(topics_max=2)
    traffic = book.join("orders")
    traffic.received_bytes += 10
    book.leave(traffic)
    assert list(book) == []
    assert book.join("orders") is traffic
    assert list(book) == [traffic]


def test_topics_above_the_limit_share_a_count_and_those_that_left_make_room() -> None:
    book = TrafficBook(topics_max=1)
    first, second, third = book.join("a"), book.join("b"), book.join("c")
    assert first.topic == "a"
    assert second is third is book.others
    assert second.topic == OTHERS
    first.received_bytes += 5
    second.received_bytes += 7
    book.leave(first)
    assert book.join("d").topic == "d"
    assert book.received_bytes == 12
