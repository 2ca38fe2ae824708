"""Heartbeat: a member says that it lives, and hears whether its group is about to change."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.context import Context
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def handle(context: Context, request: HeartbeatRequest) -> HeartbeatResponse:
    if not context.allows(Operation.READ, ResourceType.GROUP, request.group_id):
        return HeartbeatResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    try:
        served = context.services.groups.of(request.group_id)
    except KafkaError as error:
        # As in Kafka: a member does not learn that its group is being loaded. Nothing is lost by that, and
        # some clients (aiokafka) end their heartbeats over an answer that they do not expect here.
        is_loading = error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return HeartbeatResponse(error_code=ErrorCode.NONE if is_loading else error.code)
    now, now_ms = served.now
    code = served.shard.heartbeat(
        request.group_id,
        request.member_id,
        request.group_instance_id,
        request.generation_id,
        now,
        now_ms=now_ms,
    )
    return HeartbeatResponse(error_code=code)
