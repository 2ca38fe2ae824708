"""What describing consumer groups and streams groups has in common: group by group, an error for each."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from tidelog.base.errors import KafkaError
from tidelog.broker.handlers.groups.describe_groups import GROUP_OPERATIONS


class DescribeRequest(Protocol):
    group_ids: list[str]
    include_authorized_operations: bool


class DescribedGroupMessage(Protocol):
    authorized_operations: int


GroupT = TypeVar("GroupT", bound=DescribedGroupMessage)


def describe_each(
    request: DescribeRequest, describe: Callable[[str], GroupT], refused: Callable[..., GroupT]
) -> list[GroupT]:
    """`refused` is the message of a group; it gets the error with which `describe` refuses one."""
    groups = [_describe_one(group_id, describe, refused) for group_id in request.group_ids]
    if request.include_authorized_operations:
        for group in groups:
            group.authorized_operations = GROUP_OPERATIONS
    return groups


def _describe_one(group_id: str, describe: Callable[[str], GroupT], refused: Callable[..., GroupT]) -> GroupT:
    try:
        return describe(group_id)
    except KafkaError as error:
        return refused(group_id=group_id, error_code=error.code, error_message=error.message)
