"""Exit codes and words for a broker's refusals."""

import pytest

from tidelog.base.errors import ErrorCode
from tidelog.cli.direct.refusals import refusal
from tidelog.cli.exits import Exit


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, Exit.NOT_FOUND),
        (ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, Exit.NOT_FOUND),
        (ErrorCode.INVALID_REPLICA_ASSIGNMENT, Exit.REFUSED),
        (ErrorCode.INCONSISTENT_CLUSTER_ID, Exit.REFUSED),
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, Exit.DENIED),
        (ErrorCode.REQUEST_TIMED_OUT, Exit.TIMED_OUT),
        (ErrorCode.UNKNOWN_SERVER_ERROR, Exit.FAILED),
        (9999, Exit.FAILED),
    ],
)
def test_exit_codes(code: int, expected: Exit) -> None:
    assert refusal(code, None, "x").code is expected


def test_the_brokers_words_come_first() -> None:
    assert refusal(ErrorCode.INVALID_REQUEST, "no such thing", "t[0]").message == "t[0]: no such thing."
    assert refusal(ErrorCode.DUPLICATE_VOTER, None, "1").message == f"1: {ErrorCode.DUPLICATE_VOTER.text}"
