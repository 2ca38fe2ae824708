"""DescribeGroups: state, members and assignments of classic groups."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.context import Context
from tidelog.broker.turns import names_in_turns
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.wire.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)

FIRST_VERSION_WITH_NOT_FOUND = 6


async def handle(context: Context, request: DescribeGroupsRequest) -> DescribeGroupsResponse:
    response = DescribeGroupsResponse()
    async for piece in names_in_turns(request.groups, len):
        for group_id in piece:
            group = _describe(context, group_id)
            if request.include_authorized_operations and not group.error_code:
                group.authorized_operations = context.operations_on(ResourceType.GROUP, group_id)
            response.groups.append(group)
    return response


def _describe(context: Context, group_id: str) -> DescribedGroup:
    if not context.allows(Operation.DESCRIBE, ResourceType.GROUP, group_id):
        return DescribedGroup(group_id=group_id, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    try:
        found = context.services.groups.of(group_id).shard.describe(group_id)
    except KafkaError as error:
        return DescribedGroup(group_id=group_id, error_code=error.code)
    code = found.error
    if code is ErrorCode.GROUP_ID_NOT_FOUND and context.version < FIRST_VERSION_WITH_NOT_FOUND:
        code = ErrorCode.NONE  # such clients read the state, which says Dead
    return DescribedGroup(
        error_code=code,
        error_message=code.text if code else None,
        group_id=found.group_id,
        group_state=found.group_state,
        protocol_type=found.protocol_type,
        protocol_data=found.protocol_data,
        members=[
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.member_metadata,
                member_assignment=member.member_assignment,
            )
            for member in found.members
        ],
    )
