"""What is said of an even number of voters."""

import pytest

from tidelog.cli.cluster.voters import advice_on


@pytest.mark.parametrize(("votes", "fewer"), [(2, "one alone does"), (4, "3 do")])
def test_an_even_number_bears_no_more(votes: int, fewer: str) -> None:
    assert advice_on(votes) == (
        f"{votes} voters bear no greater loss than {fewer}: add one more, or remove one."
    )


def test_an_odd_number_is_fine() -> None:
    assert advice_on(1) is advice_on(3) is None
