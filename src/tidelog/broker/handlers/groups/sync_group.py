"""SyncGroup: the leader hands in who gets what, and every member takes its share."""

import asyncio

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.context import Context
from tidelog.groups.classic.messages import SyncAnswer, SyncRequest
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

FIRST_VERSION_WITH_PROTOCOL = 5


def handle(
    context: Context, request: SyncGroupRequest
) -> "SyncGroupResponse | asyncio.Future[SyncGroupResponse]":
    if context.version >= FIRST_VERSION_WITH_PROTOCOL and None in (
        request.protocol_type,
        request.protocol_name,
    ):
        return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if not context.allows(Operation.READ, ResourceType.GROUP, request.group_id):
        return SyncGroupResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    try:
        served = context.services.groups.of(request.group_id)
    except KafkaError as error:
        return SyncGroupResponse(error_code=error.code)
    wanted = SyncRequest(
        group_id=request.group_id,
        member_id=request.member_id,
        generation_id=request.generation_id,
        group_instance_id=request.group_instance_id,
        protocol_type=request.protocol_type,
        protocol_name=request.protocol_name,
        assignments=[(given.member_id, given.assignment) for given in request.assignments],
    )
    return served.run_in_order(served.shard.sync(wanted, *served.now), _response)


def _response(answer: SyncAnswer) -> SyncGroupResponse:
    return SyncGroupResponse(
        error_code=answer.error,
        protocol_type=answer.protocol_type,
        protocol_name=answer.protocol_name,
        assignment=answer.assignment,
    )
