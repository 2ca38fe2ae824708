"""How long a broker that ended waits for its next start."""

from tidelog.cli.fleet.events import exit_text
from tidelog.cli.fleet.restarts import FIRST_S, LONGEST_S, STEADY_S, Backoff


def test_failures_in_a_row_wait_longer_up_to_a_bound() -> None:
    backoff = Backoff()
    waits = [backoff.after(ran_s=0.1) for _ in range(8)]
    assert waits[:4] == [FIRST_S, 2 * FIRST_S, 4 * FIRST_S, 8 * FIRST_S]
    assert waits[-1] == LONGEST_S


def test_one_that_ran_well_starts_again_soon() -> None:
    backoff = Backoff()
    for _ in range(5):
        backoff.after(ran_s=0)
    assert backoff.after(ran_s=STEADY_S) == FIRST_S


def test_how_it_ended_in_words() -> None:
    assert exit_text(3) == "exit code 3"
    assert exit_text(-9) == "killed by SIGKILL"
    assert exit_text(-250) == "killed by signal 250"
