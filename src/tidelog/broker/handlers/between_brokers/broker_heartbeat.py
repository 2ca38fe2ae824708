"""BrokerHeartbeat: a broker reports how much metadata it has applied, and learns whether it is fenced."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.context import Context
from tidelog.metadata.brokers.heartbeats import Heartbeat
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse


async def handle(context: Context, request: BrokerHeartbeatRequest) -> BrokerHeartbeatResponse:
    if not context.allows_on_cluster(Operation.CLUSTER_ACTION):
        return BrokerHeartbeatResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    beat = Heartbeat(
        request.broker_id,
        request.broker_epoch,
        request.current_metadata_offset,
        request.want_fence,
        request.want_shut_down,
        request.offline_log_dirs,
    )
    try:
        answer = await context.services.controller.heartbeat(beat)
    except KafkaError as error:
        return BrokerHeartbeatResponse(error_code=error.code)
    return BrokerHeartbeatResponse(
        is_caught_up=answer.is_caught_up,
        is_fenced=answer.is_fenced,
        should_shut_down=answer.should_shut_down,
    )
