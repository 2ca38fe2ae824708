"""What counts as handed out, handled and committed."""

from tidelog import TopicPartition
from tidelog.clients.consumer.positions import Positions

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def test_a_message_is_handled_when_the_next_one_is_asked_for() -> None:
    positions = Positions()
    positions.hand_out(A, 4)
    assert positions.take_handled() == {}
    positions.all_handled()
    assert positions.take_handled() == {A: 5}
    assert positions.take_handled() == {}


def test_commit_takes_what_was_handed_out_handled_or_not() -> None:
    positions = Positions()
    positions.hand_out(A, 4)
    positions.all_handled()
    positions.hand_out(B, 9)
    assert positions.uncommitted() == {A: 5, B: 10}
    positions.committed({A: 5, B: 3})
    assert positions.uncommitted() == {B: 10}, "an older commit does not count for newer messages"


def test_a_seek_voids_what_was_handed_out_before() -> None:
    positions = Positions()
    positions.hand_out(A, 4)
    positions.all_handled()
    positions.hand_out(A, 5)
    positions.move(A, 2)
    positions.all_handled()
    assert (positions.next_of(A), positions.uncommitted(), positions.take_handled()) == (2, {}, {})


def test_a_seek_to_an_unknown_place() -> None:
    positions = Positions()
    positions.hand_out(A, 4)
    positions.move(A, None)
    assert positions.next_of(A) is None


def test_partitions_that_are_gone_are_forgotten() -> None:
    positions = Positions()
    positions.hand_out(A, 4)
    positions.hand_out(B, 4)
    positions.forget([A])
    assert positions.next_of(A) is None
    assert positions.uncommitted() == {B: 5}


def test_where_the_uncommitted_begin() -> None:
    positions = Positions()
    for offset in (4, 5, 6):
        positions.hand_out(A, offset)
    assert positions.first_uncommitted() == {A: 4}
    positions.committed({A: 6, B: 1})
    assert positions.first_uncommitted() == {A: 6}
    positions.committed({A: 7})
    assert positions.first_uncommitted() == {}
    positions.hand_out(A, 7)
    positions.move(A, 2)
    assert positions.first_uncommitted() == {}


def test_only_what_was_not_committed_can_be_lost() -> None:
    positions = Positions()
    positions.hand_out(A, 4)
    positions.hand_out(B, 4)
    positions.committed({B: 5})
    positions.lose([A, B])
    positions.forget([A, B])
    assert positions.take_lost() == {A}
    assert positions.take_lost() == set()
