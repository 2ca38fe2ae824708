"""Claims in the order of the log, and the set of offsets behind them, against a plain set."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tidelog.blocking.producer_identity import ProducerIdentity
from tidelog.cli.queue.dead_letters.claims import Claim, Ending, Step
from tidelog.cli.queue.dead_letters.ledger import Ledger
from tidelog.cli.queue.dead_letters.offset_set import OffsetSet, count_of, offsets_of, ranges_of
from tidelog.clients.records import TopicPartition

TOPIC_ID = bytes(16)
ONE, TWO, THREE = (ProducerIdentity(number, 0) for number in range(3))


def claim(writer: ProducerIdentity, *letters: tuple[int, int], topic_id: bytes = TOPIC_ID) -> Claim:
    return Claim(letters, topic_id, TopicPartition("jobs", 0), bytes(16), writer, 0)


def ledger(*steps: Claim | Ending) -> Ledger:
    made = Ledger(TOPIC_ID)
    for step in steps:
        made.apply(step)
    return made


def taken(made: Ledger) -> list[int]:
    return [offset for offset in range(20) if made.is_taken(offset)]


def test_the_first_claim_counts_and_the_second_is_void_as_a_whole() -> None:
    made = ledger(claim(ONE, (1, 3)), claim(TWO, (3, 5)), claim(THREE, (5, 6)))
    assert (made.holds(ONE), made.holds(TWO), made.holds(THREE)) == (True, False, True)
    assert taken(made) == [1, 2, 3, 5, 6]


def test_what_is_done_stays_taken() -> None:
    made = ledger(claim(ONE, (1, 3)), Ending(Step.DONE, ONE), claim(TWO, (3, 5)))
    assert made.open_claims == []
    assert made.is_ended(ONE)
    assert taken(made) == [1, 2, 3]


def test_what_is_released_is_free() -> None:
    made = ledger(claim(ONE, (1, 3)), Ending(Step.RELEASED, ONE), claim(TWO, (3, 5)))
    assert made.holds(TWO)
    assert taken(made) == [3, 4, 5]


def test_a_claim_that_a_retry_wrote_again_does_not_count_twice() -> None:
    twice = claim(ONE, (1, 3))
    assert ledger(twice, twice).open_claims == [twice]
    assert ledger(twice, Ending(Step.RELEASED, ONE), twice).open_claims == []


def test_an_end_without_a_claim_changes_nothing() -> None:
    made = ledger(claim(ONE, (1, 3)), claim(TWO, (1, 1)), Ending(Step.RELEASED, TWO))
    assert taken(made) == [1, 2, 3]


def test_a_claim_of_another_topic_of_the_same_name() -> None:
    assert taken(ledger(claim(ONE, (1, 3), topic_id=bytes(range(16))))) == []


offsets = st.integers(0, 40)
changes = st.lists(st.tuples(st.booleans(), offsets, offsets), max_size=30)


@given(changes, st.tuples(offsets, offsets))
def test_a_set_of_offsets(those: list[tuple[bool, int, int]], asked: tuple[int, int]) -> None:
    ours, plain = OffsetSet(), set[int]()
    for adds, *ends in those:
        first, last = sorted(ends)
        if adds:
            ours.add(first, last)
            plain |= set(range(first, last + 1))
        else:
            ours.remove(first, last)
            plain -= set(range(first, last + 1))
        assert [offset for offset in range(45) if offset in ours] == sorted(plain)
    first, last = sorted(asked)
    assert ours.meets(first, last) == bool(plain & set(range(first, last + 1)))


@given(st.sets(offsets))
def test_ranges(plain: set[int]) -> None:
    ranges = ranges_of(sorted(plain))
    assert list(offsets_of(ranges)) == sorted(plain)
    assert count_of(ranges) == len(plain)
    assert all(last + 1 < first for (_, last), (first, _) in pairwise(ranges))
