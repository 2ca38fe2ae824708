"""What describing consumer, streams and share groups has in common: group by group, an error for each."""

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.context import Context
from tidelog.broker.turns import names_in_turns
from tidelog.security.acls.vocabulary import Operation, ResourceType


class DescribeRequest(Protocol):
    group_ids: list[str]
    include_authorized_operations: bool


class DescribedGroupMessage(Protocol):
    error_code: int
    group_id: str
    authorized_operations: int


GroupT = TypeVar("GroupT", bound=DescribedGroupMessage)


async def describe_each(
    context: Context,
    request: DescribeRequest,
    describe: Callable[[Context, str], GroupT],
    refused: Callable[..., GroupT],
) -> list[GroupT]:
    """`refused` is the message of a group; it gets the error with which `describe` refuses one."""
    groups: list[GroupT] = []
    async for piece in names_in_turns(request.group_ids, len):
        for group_id in piece:
            group = _describe_one(context, group_id, describe, refused)
            if request.include_authorized_operations and (
                group.error_code != ErrorCode.GROUP_AUTHORIZATION_FAILED
            ):
                group.authorized_operations = context.operations_on(ResourceType.GROUP, group_id)
            groups.append(group)
    return groups


def check_topics(context: Context, topics: Iterable[str]) -> None:
    """Raise KafkaError if the client may not see one of the topics that a described group names."""
    if any(not context.allows(Operation.DESCRIBE, ResourceType.TOPIC, name) for name in sorted(set(topics))):
        raise KafkaError(
            ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            "The group uses topics that the client is not authorized to describe.",
        )


def _describe_one(
    context: Context,
    group_id: str,
    describe: Callable[[Context, str], GroupT],
    refused: Callable[..., GroupT],
) -> GroupT:
    try:
        if not context.allows(Operation.DESCRIBE, ResourceType.GROUP, group_id):
            raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
        return describe(context, group_id)
    except KafkaError as error:
        return refused(group_id=group_id, error_code=error.code, error_message=error.message)
