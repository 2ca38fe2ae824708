"""FindCoordinator: which broker coordinates a group, a transactional id, or the state of a share partition.

The first request creates the topic in which the coordinators keep their state; not so the request of a
client that may not use what it asks for.
"""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeAlias

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.coordinators.key_types import KeyType
from tidelog.broker.coordinators.runtime.service import CoordinatorService
from tidelog.broker.requests.context import Context
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.shares.place import coordinator_key, place_of_key
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
    KeyType.SHARE: (ResourceType.CLUSTER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
}

Refusals: TypeAlias = Mapping[str, KafkaError]
"""By key."""


def handle(
    context: Context, request: FindCoordinatorRequest
) -> FindCoordinatorResponse | Coroutine[None, None, FindCoordinatorResponse]:
    keys = request.coordinator_keys if context.version >= FIRST_BATCHED_VERSION else [request.key]
    refused = {key: error for key in keys if (error := _refusal(context, request.key_type, key)) is not None}
    service = context.services.coordinators.by_key_type(request.key_type)
    if service is not None and not service.has_topic and not refused.keys() >= set(keys):
        return _after_creating(context, request, refused, service)
    return _answer(context, request, refused)


async def _after_creating(
    context: Context,
    request: FindCoordinatorRequest,
    refused: Refusals,
    service: CoordinatorService[Any],
) -> FindCoordinatorResponse:
    try:
        await service.ensure_topic()
    except KafkaError as error:
        reason = error
        return _shaped(context, request, lambda key: _refused(key, reason))
    return _answer(context, request, refused)


def _answer(context: Context, request: FindCoordinatorRequest, refused: Refusals) -> FindCoordinatorResponse:
    def find(key: str) -> Coordinator:
        if key in refused:
            return _refused(key, refused[key])
        return _find(context, request.key_type, key)

    return _shaped(context, request, find)


def _refusal(context: Context, key_type: int, key: str) -> KafkaError | None:
    guarded = _GUARDED.get(key_type)
    if guarded is None:
        return None
    resource_type, error = guarded
    if key_type == KeyType.SHARE:  # only brokers ask
        if not context.comes_from_broker():
            return KafkaError(error)
        try:
            place_of_key(key)
        except ValueError as malformed:
            return KafkaError(ErrorCode.INVALID_REQUEST, str(malformed))
        return None
    return None if context.allows(Operation.DESCRIBE, resource_type, key) else KafkaError(error)


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
        return _refused(key, KafkaError(ErrorCode.INVALID_REQUEST, f"key type {key_type} is not known"))
    is_share = key_type == KeyType.SHARE
    leader = service.leader_of(coordinator_key(place_of_key(key)) if is_share else key)
    for broker, where in context.services.metadata.reachable_brokers(context.connection.listener):
        if broker.id == leader:
            return Coordinator(key=key, node_id=broker.id, host=where.host, port=where.port)
    return _refused(key, KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE))


def _refused(key: str, error: KafkaError) -> Coordinator:
    return Coordinator(
        key=key, node_id=-1, host="", port=-1, error_code=error.code, error_message=error.message
    )
