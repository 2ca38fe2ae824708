"""FindCoordinator: which broker coordinates a group, a transactional id, or the state of a share partition.

The first request creates the topic in which the coordinators keep their state; not so the request of a
client that may not use what it asks for.
"""

from collections.abc import Coroutine, Sequence
from typing import Any, TypeAlias

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.coordinators.key_types import KeyType
from tidelog.broker.coordinators.runtime.service import CoordinatorService
from tidelog.broker.requests.context import Context
from tidelog.broker.turns import fits_in_a_turn, names_in_turns
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

Refusals: TypeAlias = dict[str, KafkaError]
"""By key."""


def handle(
    context: Context, request: FindCoordinatorRequest
) -> FindCoordinatorResponse | Coroutine[None, None, FindCoordinatorResponse]:
    keys = request.coordinator_keys if context.version >= FIRST_BATCHED_VERSION else [request.key]
    service = context.services.coordinators.by_key_type(request.key_type)
    if fits_in_a_turn(keys) and (service is None or service.has_topic):
        refused = _refusals(context, request.key_type, keys)
        return _shaped(context, _find(context, request.key_type, keys, refused))
    return _in_turns(context, request.key_type, keys, service)


async def _in_turns(
    context: Context, key_type: int, keys: list[str], service: CoordinatorService[Any] | None
) -> FindCoordinatorResponse:
    """Many keys, or the first of all: its coordinator has no topic yet."""
    found: list[Coordinator] = []
    async for piece in names_in_turns(keys, len):
        refused = _refusals(context, key_type, piece)
        if service is not None and not service.has_topic and not refused.keys() >= set(piece):
            try:
                await service.ensure_topic()
            except KafkaError as error:  # the next piece need not try again
                return _shaped(context, [_refused(key, error) for key in keys])
        found += _find(context, key_type, piece, refused)
    return _shaped(context, found)


def _refusals(context: Context, key_type: int, keys: Sequence[str]) -> Refusals:
    return {key: error for key in keys if (error := _refusal(context, key_type, key)) is not None}


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


def _shaped(context: Context, found: list[Coordinator]) -> FindCoordinatorResponse:
    """Old versions ask for one key, new ones for many."""
    if context.version >= FIRST_BATCHED_VERSION:
        return FindCoordinatorResponse(coordinators=found)
    [only] = found
    return FindCoordinatorResponse(
        error_code=only.error_code,
        error_message=only.error_message,
        node_id=only.node_id,
        host=only.host,
        port=only.port,
    )


def _find(context: Context, key_type: int, keys: Sequence[str], refused: Refusals) -> list[Coordinator]:
    service = context.services.coordinators.by_key_type(key_type)
    if service is None:
        unknown = KafkaError(ErrorCode.INVALID_REQUEST, f"key type {key_type} is not known")
        return [_refused(key, unknown) for key in keys]
    reachable = context.services.metadata.reachable_brokers(context.connection.listener)
    brokers = {broker.id: where for broker, where in reachable}
    found = []
    for key in keys:
        if key in refused:
            found.append(_refused(key, refused[key]))
            continue
        leader = service.leader_of(coordinator_key(place_of_key(key)) if key_type == KeyType.SHARE else key)
        where = None if leader is None else brokers.get(leader)
        if leader is None or where is None:
            found.append(_refused(key, KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)))
        else:
            found.append(Coordinator(key=key, node_id=leader, host=where.host, port=where.port))
    return found


def _refused(key: str, error: KafkaError) -> Coordinator:
    return Coordinator(
        key=key, node_id=-1, host="", port=-1, error_code=error.code, error_message=error.message
    )
