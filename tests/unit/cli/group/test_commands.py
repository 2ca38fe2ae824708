"""Calls that are wrong before any broker is asked, and errors about groups in our words."""

import pytest
from confluent_kafka import KafkaError

from tidelog.cli.exits import Exit
from tidelog.cli.group.admin import group_error, in_use
from tidelog.cli.main import run
from tidelog.cli.session import Session

RESET = ["group", "reset-offsets", "g"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["group", "describe"],
        ["group", "list", "--state", "sleepy"],
        ["group", "list", "--type", "queue"],
        ["group", "lag", "g", "--by", "colour"],
        ["group", "lag", "--watch", "--interval", "0"],
        ["group", "delete"],
        ["group", "delete-offsets", "g"],
        ["group", "delete-offsets", "g", "--topic", "t:x"],
        [*RESET, "--topic", "t"],
        [*RESET, "--to-earliest"],
        [*RESET, "--to-earliest", "--to-latest", "--topic", "t"],
        [*RESET, "--to-offset", "0", "--shift-by", "0", "--topic", "t"],
        [*RESET, "--to-earliest", "--from-file", "f", "--topic", "t"],
        [*RESET, "--from-file", "f", "--topic", "t"],
        [*RESET, "--from-file", "f", "--all-topics"],
        [*RESET, "--to-earliest", "--topic", "t", "--all-topics"],
        [*RESET, "--to-earliest", "--topic", "t", "--dry-run", "--execute"],
        [*RESET, "--to-datetime", "yesterday", "--topic", "t"],
        [*RESET, "--by-duration", "soon", "--topic", "t"],
        [*RESET, "--to-offset", "-1", "--topic", "t"],
        [*RESET, "--shift-by", "x", "--topic", "t"],
    ],
    ids=" ".join,
)
def test_wrong_calls(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == Exit.USAGE
    assert capsys.readouterr().err


@pytest.mark.parametrize(
    ("code", "expected", "words"),
    [
        (KafkaError.GROUP_ID_NOT_FOUND, Exit.NOT_FOUND, "There is no group 'g'"),
        (KafkaError.NON_EMPTY_GROUP, Exit.REFUSED, "has active members"),
        (KafkaError.UNKNOWN_MEMBER_ID, Exit.REFUSED, "has active members"),
        (KafkaError.GROUP_SUBSCRIBED_TO_TOPIC, Exit.REFUSED, "is subscribed to t[0]"),
        (KafkaError.GROUP_AUTHORIZATION_FAILED, Exit.DENIED, "Group 'g', t[0]"),
        (KafkaError.INVALID_GROUP_ID, Exit.REFUSED, "Group 'g', t[0]"),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, Exit.NOT_FOUND, "Group 'g', t[0]"),
    ],
)
def test_errors_about_groups(code: int, expected: Exit, words: str) -> None:
    error = group_error(KafkaError(code), "g", Session(), "t[0]")
    assert error.code is expected
    assert words in error.message


def test_active_members_are_counted() -> None:
    assert in_use("g", 1).message == "Group 'g' has 1 active member."
    assert in_use("g", 2).message == "Group 'g' has 2 active members."
