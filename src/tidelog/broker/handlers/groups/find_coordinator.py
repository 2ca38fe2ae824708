"""FindCoordinator: which broker coordinates a group or a transactional id.

The first request creates the topic in which the coordinators keep their state; not so the request of a
client that may not use what it asks for.
"""

from collections.abc import Callable, Coroutine, Set
from typing import Any

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.coordinators.key_types import KeyType
from tidelog.broker.coordinators.runtime.service import CoordinatorService
from tidelog.broker.requests.context import Context
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.wire.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

FIRST_BATCHED_VERSION = 4
_GUARDED: dict[int, tuple[ResourceType, ErrorCode]] = {
    KeyType.GROUP: (ResourceType.GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED),
    KeyType.TRANSACTION: (
        ResourceType.TRANSACTIONAL_ID,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ),
}


def handle(
    context: Context, request: FindCoordinatorRequest
) -> FindCoordinatorResponse | Coroutine[None, None, FindCoordinatorResponse]:
    keys = request.coordinator_keys if context.version >= FIRST_BATCHED_VERSION else [request.key]
    refused = {key for key in keys if not _is_allowed(context, request.key_type, key)}
    service = context.services.coordinators.by_key_type(request.key_type)
    if service is not None and not service.has_topic and not refused.issuperset(keys):
        return _after_creating(context, request, refused, service)
    return _answer(context, request, refused)


async def _after_creating(
    context: Context, request: FindCoordinatorRequest, refused: Set[str], service: CoordinatorService[Any]
) -> FindCoordinatorResponse:
    try:
        await service.ensure_topic()
    except KafkaError as error:
        reason = error
        return _shaped(context, request, lambda key: _refused(key, reason))
    return _answer(context, request, refused)


def _answer(context: Context, request: FindCoordinatorRequest, refused: Set[str]) -> FindCoordinatorResponse:
    def find(key: str) -> Coordinator:
        if key in refused:
            return _refused(key, KafkaError(_GUARDED[request.key_type][1]))
        return _find(context, request.key_type, key)

    return _shaped(context, request, find)


def _is_allowed(context: Context, key_type: int, key: str) -> bool:
    guarded = _GUARDED.get(key_type)
    return guarded is None or context.allows(Operation.DESCRIBE, guarded[0], key)


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
