"""LeaveGroup: members go in order, so that the others need not wait for their sessions to end."""

import asyncio

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.context import Context
from tidelog.groups.classic.messages import LeaveAnswer, LeavingMember
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberResponse

FIRST_BATCHED_VERSION = 3


def handle(
    context: Context, request: LeaveGroupRequest
) -> "LeaveGroupResponse | asyncio.Future[LeaveGroupResponse]":
    if not context.allows(Operation.READ, ResourceType.GROUP, request.group_id):
        return LeaveGroupResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    try:
        served = context.services.groups.of(request.group_id)
    except KafkaError as error:
        return LeaveGroupResponse(error_code=error.code)
    batched = context.version >= FIRST_BATCHED_VERSION
    leaving = [LeavingMember(request.member_id)]
    if batched:
        leaving = [LeavingMember(m.member_id, m.group_instance_id, m.reason) for m in request.members]
    decision = served.shard.leave(request.group_id, leaving, *served.now)
    return served.run(decision, lambda answer: _response(answer, batched))


def _response(answer: LeaveAnswer, batched: bool) -> LeaveGroupResponse:
    """Old versions know one member, whose error is that of the whole request."""
    error = answer.error
    if not batched and not error and answer.members:
        error = answer.members[0].error
    return LeaveGroupResponse(
        error_code=error,
        members=[
            MemberResponse(
                member_id=left.member_id, group_instance_id=left.group_instance_id, error_code=left.error
            )
            for left in answer.members
        ],
    )
