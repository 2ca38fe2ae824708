"""Calls that are wrong before any broker is asked."""

import pytest

from tidelog.cli.exits import Exit
from tidelog.cli.main import run

REASSIGN = ["topic", "reassign"]


@pytest.mark.parametrize(
    "arguments",
    [
        [*REASSIGN],
        [*REASSIGN, "t"],
        [*REASSIGN, "--brokers", "1,2"],
        [*REASSIGN, "t", "--brokers", "1,x"],
        [*REASSIGN, "t", "--brokers", ""],
        [*REASSIGN, "t", "-r", "0"],
        [*REASSIGN, "t:x", "-r", "1"],
        [*REASSIGN, "t", "--file", "f"],
        [*REASSIGN, "--file", "f", "--status"],
        [*REASSIGN, "t", "--brokers", "1", "--cancel"],
        [*REASSIGN, "--status", "--cancel"],
        [*REASSIGN, "--cancel", "--wait"],
        [*REASSIGN, "t", "--brokers", "1", "--throttle", "fast"],
        [*REASSIGN, "t", "--brokers", "1", "--throttle", "0"],
        ["cluster", "elect-leaders", "--unclean"],
        ["cluster", "elect-leaders", "t:"],
        ["cluster", "add-voter"],
        ["cluster", "add-voter", "x"],
        ["cluster", "add-voter", "1", "--directory", "short"],
        ["cluster", "add-voter", "1", "--address", "nowhere"],
        ["cluster", "remove-voter", "-1"],
        ["cluster", "drain"],
        ["cluster", "unregister"],
        ["cluster", "rebalance", "--throttle", "-1"],
        ["txn", "describe"],
        ["txn", "abort"],
        ["txn", "abort", "t"],
        ["txn", "abort", "t:0,1"],
        ["txn", "abort", "t:0", "--transactional-id", "x"],
        ["txn", "abort", "--transactional-id", "x", "--force"],
        ["txn", "abort", "--transactional-id", "x", "--producer-id", "1"],
        ["txn", "list", "--state", "Asleep"],
        ["txn", "list", "--longer-than", "ages"],
        ["txn", "find-hanging", "t:x"],
        ["topic", "producers"],
        ["up", "--brokers", "0"],
        ["up", "--brokers", "1000"],
    ],
    ids=" ".join,
)
def test_wrong_calls(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == Exit.USAGE
    assert capsys.readouterr().err
