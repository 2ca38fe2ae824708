"""ShareAcknowledge: what became of the records that a member of a share group holds."""

import asyncio
from functools import partial

from tidelog.base.errors import KafkaError
from tidelog.base.ids import Uuid
from tidelog.broker.handlers.shares.fetch_job import refusal_to_read
from tidelog.broker.handlers.shares.served import check_group, check_offered, shares_of
from tidelog.broker.requests.context import Context
from tidelog.broker.shares.acknowledgements import Acknowledgements
from tidelog.broker.shares.leaders import NamedLeaders
from tidelog.wire.messages.share_acknowledge import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)

RENEW_SINCE = 2


def handle(
    context: Context, request: ShareAcknowledgeRequest
) -> "ShareAcknowledgeResponse | asyncio.Future[ShareAcknowledgeResponse]":
    try:
        check_offered(context.services)
        check_group(context, request.group_id)
        shares = shares_of(context.services)
        plan = shares.sessions.plan_acknowledge(request, context.connection.connection_id)
    except KafkaError as error:
        return ShareAcknowledgeResponse(error_code=error.code, error_message=error.message)
    context.connection.on_closed = shares.connection_closed
    acks = Acknowledgements()
    may_renew = context.version >= RENEW_SINCE and request.is_renew_ack
    acks.apply(shares, plan, partial(refusal_to_read, context), may_renew=may_renew)
    if plan.is_final:
        shares.end_session(plan.member)
    lock_ms = shares.limits.lock_ms(plan.member.group_id)
    if acks.is_complete:
        return _response(context, acks, lock_ms)
    future: asyncio.Future[ShareAcknowledgeResponse] = asyncio.get_running_loop().create_future()

    def answer() -> None:
        if not future.done():
            future.set_result(_response(context, acks, lock_ms))

    acks.when_complete(answer)
    return future


def _response(context: Context, acks: Acknowledgements, lock_ms: int) -> ShareAcknowledgeResponse:
    topics: dict[Uuid, ShareAcknowledgeTopicResponse] = {}
    leaders = NamedLeaders(context.services.metadata)
    for key, error in acks.errors.items():
        topic = topics.get(key[0])
        if topic is None:
            topic = topics[key[0]] = ShareAcknowledgeTopicResponse(topic_id=key[0])
        answer = PartitionData(partition_index=key[1])
        if error is not None:
            answer.error_code, answer.error_message = error.code, error.message
            leader = leaders.of(key, error.code)
            if leader is not None:
                answer.current_leader = LeaderIdAndEpoch(leader_id=leader[0], leader_epoch=leader[1])
        topic.partitions.append(answer)
    return ShareAcknowledgeResponse(
        acquisition_lock_timeout_ms=lock_ms,
        responses=list(topics.values()),
        node_endpoints=[
            NodeEndpoint(node_id=id, host=host, port=port, rack=rack)
            for id, host, port, rack in leaders.endpoints(context.connection.listener)
        ],
    )
