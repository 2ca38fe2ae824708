"""Heartbeat: a member says that it lives, and hears whether its group is about to change."""

from tidelog.base.errors import KafkaError
from tidelog.broker.context import Context
from tidelog.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def handle(context: Context, request: HeartbeatRequest) -> HeartbeatResponse:
    try:
        home = context.services.groups.of(request.group_id)
    except KafkaError as error:
        return HeartbeatResponse(error_code=error.code)
    code = home.shard.heartbeat(
        request.group_id, request.member_id, request.group_instance_id, request.generation_id, home.now[0]
    )
    return HeartbeatResponse(error_code=code)
