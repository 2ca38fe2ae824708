"""ConsumerGroupHeartbeat (KIP-848): join, stay, read something else, leave; the answer says what to own."""

import asyncio

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.handlers.when_served import waits_for_group
from tidelog.broker.requests.context import Context
from tidelog.groups.consumer.messages import HeartbeatAnswer, HeartbeatRequest
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.wire.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)


@waits_for_group()
def handle(
    context: Context, request: ConsumerGroupHeartbeatRequest
) -> "ConsumerGroupHeartbeatResponse | asyncio.Future[ConsumerGroupHeartbeatResponse]":
    refusal = _refusal(context, request)
    if refusal is not None:
        return ConsumerGroupHeartbeatResponse(error_code=refusal, error_message=refusal.text)
    try:
        served = context.services.groups.of(request.group_id)
    except KafkaError as error:
        return ConsumerGroupHeartbeatResponse(error_code=error.code, error_message=error.message)
    owned = request.topic_partitions
    beat = HeartbeatRequest(
        group_id=request.group_id,
        member_id=request.member_id,
        member_epoch=request.member_epoch,
        instance_id=request.instance_id,
        rack_id=request.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        subscribed_topic_names=request.subscribed_topic_names,
        subscribed_topic_regex=request.subscribed_topic_regex,
        server_assignor=request.server_assignor,
        topic_partitions=None if owned is None else [(o.topic_id, o.partitions) for o in owned],
        client_id=context.client_id or "",
        client_host=f"/{context.connection.host}",
        api_version=context.version,
        may_see=context.sees_topics,
    )
    return served.run_in_order(served.shard.consumer_heartbeat(beat, *served.now), _response)


def _refusal(context: Context, request: ConsumerGroupHeartbeatRequest) -> ErrorCode | None:
    if not context.allows(Operation.READ, ResourceType.GROUP, request.group_id):
        return ErrorCode.GROUP_AUTHORIZATION_FAILED
    for name in dict.fromkeys(request.subscribed_topic_names or ()):
        if not context.allows(Operation.DESCRIBE, ResourceType.TOPIC, name):
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return None


def _response(answer: HeartbeatAnswer) -> ConsumerGroupHeartbeatResponse:
    assignment = None
    if answer.assignment is not None:
        assignment = Assignment(
            topic_partitions=[
                TopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
                for topic_id, partitions in answer.assignment.items()
            ]
        )
    return ConsumerGroupHeartbeatResponse(
        error_code=answer.error,
        error_message=answer.error_message,
        member_id=answer.member_id,
        member_epoch=answer.member_epoch,
        heartbeat_interval_ms=answer.heartbeat_interval_ms,
        assignment=assignment,
    )
