"""ShareGroupHeartbeat (KIP-932): join, stay, read something else, leave; the answer says what to fetch.

A partition is assigned once the group has share state for it. The first answer to a new member waits for
that, so that it need not idle until its next heartbeat.
"""

import asyncio
from collections.abc import Coroutine
from functools import partial
from typing import Any

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.handlers.group_states import group_states_of
from tidelog.broker.handlers.shares.served import check_group, check_offered
from tidelog.broker.handlers.when_served import waits_for_group
from tidelog.broker.requests.context import Context
from tidelog.groups.consumer.messages import JOINING
from tidelog.groups.share.messages import HeartbeatAnswer, HeartbeatRequest, StatesToMake
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.wire.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)

STATE_SECONDS = 3.0
"""How long a new member waits for share state. After that, its next heartbeats look for it."""


@waits_for_group()
def handle(
    context: Context, request: ShareGroupHeartbeatRequest
) -> ShareGroupHeartbeatResponse | Coroutine[Any, Any, ShareGroupHeartbeatResponse]:
    try:
        check_offered(context.services)
        _check_allowed(context, request)
        beat = _request(context, request)
        answered = _beat(context, beat)
    except KafkaError as error:
        return ShareGroupHeartbeatResponse(error_code=error.code, error_message=error.message)
    if isinstance(answered, HeartbeatAnswer) and not _waits_for_state(context, beat, answered):
        return _response(answered)
    return _with_state(context, beat, answered)


def _check_allowed(context: Context, request: ShareGroupHeartbeatRequest) -> None:
    check_group(context, request.group_id)
    for name in dict.fromkeys(request.subscribed_topic_names or ()):
        if not context.allows(Operation.DESCRIBE, ResourceType.TOPIC, name):
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def _request(context: Context, request: ShareGroupHeartbeatRequest) -> HeartbeatRequest:
    return HeartbeatRequest(
        request.group_id,
        request.member_id,
        request.member_epoch,
        request.rack_id,
        request.subscribed_topic_names,
        context.client_id or "",
        f"/{context.connection.host}",
    )


def _beat(context: Context, beat: HeartbeatRequest) -> "HeartbeatAnswer | asyncio.Future[HeartbeatAnswer]":
    served = context.services.groups.of(beat.group_id)
    decision = served.shard.share_heartbeat(beat, *served.now)
    to_make = decision.if_committed.to_make
    if to_make is not None:  # also if the client does not wait for its answer
        decision.effect = partial(_make, context, to_make)
    return served.run_in_order(decision, lambda answer: answer)


def _make(context: Context, to_make: StatesToMake) -> None:
    group_states_of(context.services).start_making(to_make)


def _waits_for_state(context: Context, beat: HeartbeatRequest, answer: HeartbeatAnswer) -> bool:
    states = context.services.group_states
    is_new = beat.member_epoch == JOINING and not answer.error
    return is_new and states is not None and states.making(beat.group_id) is not None


async def _with_state(
    context: Context,
    beat: HeartbeatRequest,
    answered: "HeartbeatAnswer | asyncio.Future[HeartbeatAnswer]",
) -> ShareGroupHeartbeatResponse:
    if isinstance(answered, asyncio.Future):
        answered = await answered
        if not _waits_for_state(context, beat, answered):
            return _response(answered)
    making = group_states_of(context.services).making(beat.group_id)
    if making is not None:
        await asyncio.wait({making}, timeout=STATE_SECONDS)
    try:
        again = _beat(context, beat._replace(member_epoch=answered.member_epoch))
        later = await again if isinstance(again, asyncio.Future) else again
    except KafkaError:
        return _response(answered)  # it has joined; the next coordinator assigns it partitions
    return _response(answered if later.error else later)


def _response(answer: HeartbeatAnswer) -> ShareGroupHeartbeatResponse:
    assignment = None
    if answer.assignment is not None:
        assignment = Assignment(
            topic_partitions=[
                TopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
                for topic_id, partitions in answer.assignment.items()
            ]
        )
    return ShareGroupHeartbeatResponse(
        error_code=answer.error,
        error_message=answer.error_message,
        member_id=answer.member_id,
        member_epoch=answer.member_epoch,
        heartbeat_interval_ms=answer.heartbeat_interval_ms,
        assignment=assignment,
    )
