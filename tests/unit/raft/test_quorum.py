"""Quorum maths against plain counting."""

from hypothesis import given
from hypothesis import strategies as st

from tidelog.raft.entries import Configuration, Voter
from tidelog.raft.quorum import VoteResult, majority, reached_by_majority, vote_result, votes_needed


@given(st.lists(st.integers(-1, 9), min_size=1, max_size=7))
def test_what_a_majority_has_reached_agrees_with_counting(acknowledged: list[int]) -> None:
    def is_on_majority(index: int) -> bool:
        return 2 * sum(one >= index for one in acknowledged) > len(acknowledged)

    assert reached_by_majority(acknowledged) == max(filter(is_on_majority, range(-1, 10)))


@given(st.integers(1, 50))
def test_any_two_majorities_share_a_member(members: int) -> None:
    assert 2 * majority(members) > members
    assert majority(members) <= members


def test_unpinned_voters_must_all_agree_and_vacant_seats_do_not_count() -> None:
    pinned = tuple(Voter(node, "a:1", bytes([node] * 16)) for node in (1, 2, 3))
    assert votes_needed(Configuration(pinned)) == 2
    assert votes_needed(Configuration((*pinned[:2], Voter(3, "a:1")))) == 3
    assert votes_needed(Configuration((*pinned[:2], Voter(3, "a:1", vacant=True)))) == 2


@given(st.integers(1, 7), st.integers(0, 7), st.integers(0, 7))
def test_an_election_is_lost_when_the_rest_could_not_win_it(seats: int, granted: int, refused: int) -> None:
    granted = min(granted, seats)
    refused = min(refused, seats - granted)
    needed = majority(seats)
    open_seats = seats - granted - refused
    expected = VoteResult.PENDING
    if granted >= needed:
        expected = VoteResult.WON
    elif granted + open_seats < needed:
        expected = VoteResult.LOST
    assert vote_result(granted=granted, refused=refused, seats=seats, needed=needed) is expected
