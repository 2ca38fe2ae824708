"""DescribeUserScramCredentials: all users, some, one twice, one that is not there."""

from types import SimpleNamespace
from typing import Any

from tests.unit.metadata.security.test_bootstrap import bootstrap, decide
from tidelog.base.errors import ErrorCode
from tidelog.broker.handlers.authentication.describe_user_scram_credentials import handle
from tidelog.metadata.image.image import ClusterImage
from tidelog.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)


def described(names: list[str] | None) -> dict[str, tuple[ErrorCode, list[tuple[int, int]]]]:
    metadata = SimpleNamespace(image=decide(ClusterImage(), bootstrap()))
    context: Any = SimpleNamespace(
        services=SimpleNamespace(metadata=metadata), allows_on_cluster=lambda operation: True
    )
    users = None if names is None else [UserName(name=name) for name in names]
    answer = handle(context, DescribeUserScramCredentialsRequest(users=users))
    return {
        result.user: (
            ErrorCode(result.error_code),
            [(info.mechanism, info.iterations) for info in result.credential_infos],
        )
        for result in answer.results
    }


def test_without_names_all_users_are_described() -> None:
    assert described(None) == {"admin": (ErrorCode.NONE, [(2, 4096)])}
    assert described([]) == described(None)


def test_names_that_do_not_exist_or_appear_twice() -> None:
    found = described(["admin", "bob", "carol", "carol"])
    assert [error for error, _ in found.values()] == [
        ErrorCode.NONE,
        ErrorCode.RESOURCE_NOT_FOUND,
        ErrorCode.DUPLICATE_RESOURCE,
    ]
