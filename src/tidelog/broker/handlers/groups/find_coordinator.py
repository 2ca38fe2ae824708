"""FindCoordinator: which broker coordinates a group or a transactional id.

The first request creates the topic in which the coordinators keep their state.
"""

from collections.abc import Callable, Coroutine
from typing import Any

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.coordinators.key_types import KeyType
from tidelog.broker.coordinators.runtime.service import CoordinatorService
from tidelog.broker.requests.context import Context
from tidelog.wire.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

FIRST_BATCHED_VERSION = 4


def handle(
    context: Context, request: FindCoordinatorRequest
) -> FindCoordinatorResponse | Coroutine[None, None, FindCoordinatorResponse]:
    service = context.services.coordinators.by_key_type(request.key_type)
    if service is not None and not service.has_topic:
        return _after_creating(context, request, service)
    return _answer(context, request)


async def _after_creating(
    context: Context, request: FindCoordinatorRequest, service: CoordinatorService[Any]
) -> FindCoordinatorResponse:
    try:
        await service.ensure_topic()
    except KafkaError as error:
        reason = error
        return _shaped(context, request, lambda key: _refused(key, reason))
    return _answer(context, request)


def _answer(context: Context, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    return _shaped(context, request, lambda key: _find(context, request.key_type, key))


def _shaped(
    context: Context, request: FindCoordinatorRequest, find: Callable[[str], Coordinator]
) -> FindCoordinatorResponse:
    """Old versions ask for one key, new ones for many."""
    if context.version >= FIRST_BATCHED_VERSION:
        return FindCoordinatorResponse(coordinators=[find(key) for key in request.coordinator_keys])
    coordinator = find(request.key)
    return FindCoordinatorResponse(
        error_code=coordinator.error_code,
        error_message=coordinator.error_message,
        node_id=coordinator.node_id,
        host=coordinator.host,
        port=coordinator.port,
    )


def _find(context: Context, key_type: int, key: str) -> Coordinator:
    service = context.services.coordinators.by_key_type(key_type)
    if service is None:
        is_share = key_type == KeyType.SHARE
        reason = "share groups are not offered" if is_share else f"key type {key_type} is not known"
        return _refused(key, KafkaError(ErrorCode.INVALID_REQUEST, reason))
    leader = service.leader_of(key)
    for broker, where in context.services.metadata.reachable_brokers(context.connection.listener):
        if broker.id == leader:
            return Coordinator(key=key, node_id=broker.id, host=where.host, port=where.port)
    return _refused(key, KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE))


def _refused(key: str, error: KafkaError) -> Coordinator:
    return Coordinator(
        key=key, node_id=-1, host="", port=-1, error_code=error.code, error_message=error.message
    )
