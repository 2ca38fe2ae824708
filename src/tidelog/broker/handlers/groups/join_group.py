"""JoinGroup: a member asks to be part of a group's next generation, and waits until that has formed."""

import asyncio

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.handlers.when_served import waits_for_group
from tidelog.broker.requests.context import Context
from tidelog.groups.classic.messages import JoinAnswer, JoinRequest
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember

FIRST_VERSION_WITH_TYPE = 7


@waits_for_group()
def handle(
    context: Context, request: JoinGroupRequest
) -> "JoinGroupResponse | asyncio.Future[JoinGroupResponse]":
    if not context.allows(Operation.READ, ResourceType.GROUP, request.group_id):
        return _response(JoinAnswer(ErrorCode.GROUP_AUTHORIZATION_FAILED), context.version)
    try:
        served = context.services.groups.of(request.group_id)
    except KafkaError as error:
        return JoinGroupResponse(error_code=error.code, member_id=request.member_id)
    wanted = JoinRequest(
        group_id=request.group_id,
        protocol_type=request.protocol_type,
        protocols=[(protocol.name, protocol.metadata) for protocol in request.protocols],
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        client_id=context.client_id or "",
        client_host=f"/{context.connection.host}",
        reason=request.reason,
        api_version=context.version,
        may_see=context.sees_topics,
    )
    return served.run(
        served.shard.join(wanted, *served.now), lambda answer: _response(answer, context.version)
    )


def _response(answer: JoinAnswer, version: int) -> JoinGroupResponse:
    # Before version 7 the name may not be null, and an error has none.
    name = answer.protocol_name if version >= FIRST_VERSION_WITH_TYPE else answer.protocol_name or ""
    return JoinGroupResponse(
        error_code=answer.error,
        generation_id=answer.generation_id,
        protocol_type=answer.protocol_type,
        protocol_name=name,
        leader=answer.leader,
        skip_assignment=answer.skip_assignment,
        member_id=answer.member_id,
        members=[
            JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                metadata=member.metadata,
            )
            for member in answer.members
        ],
    )
