import re
from pathlib import Path

from tidelog.transactions.states import BY_TEXT, ENDING, IDLE, NEXT, State

PAGE = Path(__file__).parents[3] / "docs" / "transactions.md"


def test_the_page_draws_the_table() -> None:
    drawn = {
        (BY_TEXT[one], BY_TEXT[other])
        for one, other in re.findall(r"^    (\w+) --> (\w+):", PAGE.read_text(), re.MULTILINE)
    }
    assert drawn == {(state, after) for state, all_after in NEXT.items() for after in all_after}


def test_states_are_spelled_as_clients_know_them() -> None:
    assert [state.text for state in State] == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ]


def test_what_is_decided_has_one_way_to_go() -> None:
    assert all(len(NEXT[state]) == 1 for state in ENDING)
    assert not set(IDLE) & set(ENDING)
