"""FindCoordinator: which broker looks after a group. The first to ask makes the offsets topic appear.

Nobody coordinates transactions here. Clients would ask again and again if none were merely not available, so
they get a refusal that ends their attempt at once.
"""

from collections.abc import Callable, Coroutine

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.context import Context
from tidelog.metadata.topic_names import CONSUMER_OFFSETS
from tidelog.wire.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

GROUP = 0
OTHERS = {
    1: (ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "transactions"),
    2: (ErrorCode.INVALID_REQUEST, "share groups"),
}
FIRST_BATCHED_VERSION = 4


def handle(
    context: Context, request: FindCoordinatorRequest
) -> FindCoordinatorResponse | Coroutine[None, None, FindCoordinatorResponse]:
    if request.key_type == GROUP and not context.services.groups.has_topic:
        return _after_creating(context, request)
    return _answer(context, request)


async def _after_creating(context: Context, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    try:
        await context.services.groups.ensure_topic()
    except KafkaError as error:
        why = error
        return _shaped(context, request, lambda key: _refused(key, why))
    return _answer(context, request)


def _answer(context: Context, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    return _shaped(context, request, lambda key: _find(context, request.key_type, key))


def _shaped(
    context: Context, request: FindCoordinatorRequest, find: Callable[[str], Coordinator]
) -> FindCoordinatorResponse:
    """Old versions ask for one key, new ones for many."""
    if context.version >= FIRST_BATCHED_VERSION:
        return FindCoordinatorResponse(coordinators=[find(key) for key in request.coordinator_keys])
    found = find(request.key)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message,
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def _find(context: Context, key_type: int, key: str) -> Coordinator:
    if key_type != GROUP:
        if key_type not in OTHERS:
            return _refused(key, KafkaError(ErrorCode.INVALID_REQUEST, f"key type {key_type} is not known"))
        code, what = OTHERS[key_type]
        return _refused(key, KafkaError(code, f"this broker does not offer {what}"))
    metadata = context.services.metadata
    image = metadata.image.partition(CONSUMER_OFFSETS, context.services.groups.partition_of(key))
    for broker, where in metadata.reachable_brokers(context.peer.listener):
        if image is not None and broker.id == image.leader:
            return Coordinator(key=key, node_id=broker.id, host=where.host, port=where.port)
    return _refused(key, KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE))


def _refused(key: str, error: KafkaError) -> Coordinator:
    return Coordinator(
        key=key, node_id=-1, host="", port=-1, error_code=error.code, error_message=error.message
    )
