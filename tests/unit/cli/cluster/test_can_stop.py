"""What `tidelog cluster can-stop` says, and how long it waits."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tidelog.cli.cluster.can_stop import StopCheck, show_check, together, wait_for_stop
from tidelog.cli.exits import CliError, Exit
from tidelog.metadata.brokers.stopping import StopObstacle, StopRule

FREE = StopCheck(2, (1, 2, 3), (1, 2, 3), (), 0)
SHRUNK = StopCheck(2, (1, 2, 3), (1, 2, 3), (StopObstacle(StopRule.KEEPS_MIN_IN_SYNC, 1, 2, "orders", 4),), 1)
ALONE = StopCheck(2, (2,), (2,), (StopObstacle(StopRule.KEEPS_LEADER, 0, 1, "orders", 0, True),), 1)


def waited(*answers: StopCheck | CliError, wait_s: float = 60) -> tuple[StopCheck, float]:
    clock = [0.0]
    left: Iterator[StopCheck | CliError] = iter(answers)

    def ask() -> StopCheck:
        answer = next(left)
        if isinstance(answer, CliError):
            raise answer
        return answer

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    return wait_for_stop(ask, wait_s, now=lambda: clock[0], sleep=sleep), clock[0]


def test_it_waits_until_the_broker_may_be_stopped() -> None:
    assert waited(SHRUNK, SHRUNK, FREE) == (FREE, 1.0)


def test_it_waits_for_a_cluster_that_does_not_answer() -> None:
    assert waited(CliError("away", code=Exit.UNREACHABLE), FREE)[0] is FREE
    with pytest.raises(CliError):
        waited(CliError("away", code=Exit.UNREACHABLE), wait_s=0)
    with pytest.raises(CliError):
        waited(CliError("no", code=Exit.DENIED), FREE)


def test_it_does_not_wait_longer_than_asked_nor_in_vain() -> None:
    assert waited(SHRUNK, SHRUNK, SHRUNK, wait_s=1) == (SHRUNK, 1.0)
    assert waited(ALONE) == (ALONE, 0.0)


def test_what_is_unavoidable_can_be_tolerated(capsys: pytest.CaptureFixture[str]) -> None:
    show_check(ALONE)
    assert "--tolerate-unavoidable" in capsys.readouterr().out
    tolerant = StopCheck(2, (2,), (2,), ALONE.obstacles, 1, tolerates_unavoidable=True)
    assert not ALONE.allowed
    assert tolerant.allowed
    show_check(tolerant)
    said = capsys.readouterr().out
    assert said.startswith("Broker 2 may be stopped.")
    assert "this broker holds the only replica" in said


def test_it_names_partitions_and_the_rule() -> None:
    [line] = SHRUNK.lines()
    assert line == "1 partition (orders:4) would have fewer in-sync replicas than min.insync.replicas."
    many = [StopObstacle(StopRule.KEEPS_LEADER, 0, 1, "t", index) for index in range(12)]
    first, more = StopCheck(1, (1,), (1,), many, 2000).lines()
    assert first.startswith("12 partitions (t:0, ")
    assert "and 2 more" in first
    assert more == "1988 more partitions are not shown."


def test_it_names_the_voters_that_are_missing() -> None:
    check = StopCheck(2, (1, 2, 3), (1, 2), (StopObstacle(StopRule.KEEPS_QUORUM, 1, 2),), 1)
    assert check.lines() == [
        "The quorum would lose its majority: 1 of 3 voters would remain, and 2 must agree; voter 3 is away "
        "or behind."
    ]
    assert check.as_json()["can_stop"] is False


def test_the_brokers_of_a_machine_stop_together(capsys: pytest.CaptureFixture[str]) -> None:
    other = replace(SHRUNK, broker=1002)
    check = together(FREE, [other])
    assert (check.broker, check.neighbours, check.obstacles, check.total) == (2, (1002,), SHRUNK.obstacles, 1)
    show_check(check)
    assert capsys.readouterr().out.startswith(
        "Broker 2 with 1002 of the same machine must not be stopped now."
    )
    assert together(SHRUNK, [other]).total == 1
    only = [StopObstacle(StopRule.KEEPS_LEADER, 0, 1, "t", number, unavoidable=True) for number in (1, 0)]
    both = together(replace(FREE, obstacles=only[:1]), [replace(FREE, obstacles=only[1:])])
    assert both.lines()[0].startswith("2 partitions (t:0, t:1) would have no leader: this machine holds")
    assert together(FREE, []) == FREE
