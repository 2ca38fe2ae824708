"""What is said of an even number of voters, and the broker that a leaving voter gives its vote to."""

import pytest

from tidelog.base.ids import ZERO_UUID
from tidelog.cli.cluster.quorum import Member, Quorum
from tidelog.cli.cluster.view import Broker, ClusterView
from tidelog.cli.cluster.vote_changes import advice_on, plan_inheritance
from tidelog.cli.exits import CliError, Exit


@pytest.mark.parametrize(("votes", "fewer"), [(2, "one alone does"), (4, "3 do")])
def test_an_even_number_bears_no_more(votes: int, fewer: str) -> None:
    assert advice_on(votes) == (
        f"{votes} voters bear no greater loss than {fewer}: add one more, or remove one."
    )


def test_an_odd_number_is_fine() -> None:
    assert advice_on(1) is advice_on(3) is None


def heirs(
    voters: str,
    observers: str,
    leaving: set[int],
    *,
    racks: dict[int, str] | None = None,
    dead: str = "",
    machines: dict[int, str] | None = None,
) -> dict[int, int | None]:
    """Numbers of brokers are the digits of texts."""
    members = [
        Member(int(id), id in voters, ZERO_UUID, 7, None, None, ()) for id in sorted(voters + observers)
    ]
    known = [
        Broker(
            member.id,
            "h",
            1,
            (racks or {}).get(member.id),
            fenced=str(member.id) in dead,
            machine=(machines or {}).get(member.id),
        )
        for member in members
    ]
    view = ClusterView("c", 1, {broker.id: broker for broker in known}, {})
    plan = plan_inheritance(Quorum(1, 1, 7, tuple(members)), view, leaving)
    return {found.voter.id: None if found.heir is None else found.heir.id for found in plan}


def test_brokers_without_a_vote_leave_none() -> None:
    assert heirs("123", "45", {4, 5}) == {}


def test_a_vote_goes_to_a_broker_that_stays() -> None:
    assert heirs("123", "45", {3}) == {3: 4}
    assert heirs("123", "45", {3, 4}) == {3: 5}
    assert heirs("123", "45", {2, 3}) == {2: 4, 3: 5}
    assert heirs("123", "45", {3}, dead="4") == {3: 5}


def test_racks_without_a_voter_come_first() -> None:
    assert heirs("123", "456", {3}, racks={1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c"}) == {3: 6}


def test_a_machine_has_one_vote() -> None:
    machines = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c"}
    assert heirs("123", "456", {3}, machines=machines) == {3: 6}
    assert heirs("123", "456", {3, 6}, machines=machines) == {3: None}
    assert heirs("123", "456789", {2, 3}, machines=machines | {7: "d", 8: "d"}) == {2: 5, 3: 6}


def test_without_observers_votes_are_given_up() -> None:
    assert heirs("12345", "", {4, 5}) == {4: None, 5: None}


def test_the_last_voters_stay() -> None:
    with pytest.raises(CliError, match="No voter would be left") as caught:
        heirs("12", "34", {1, 2, 3, 4})
    assert caught.value.code is Exit.REFUSED
    assert heirs("1", "2", {1}) == {1: 2}
