"""FindCoordinator: which broker looks after a group or a transactional id.

The first to ask makes the topic appear in which the coordinators keep what they know.
"""

from collections.abc import Callable, Coroutine

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.coordinators.groups import Groups
from tidelog.broker.coordinators.transactions import Transactions
from tidelog.broker.requests.context import Context
from tidelog.metadata.topics.names import CONSUMER_OFFSETS, TRANSACTION_STATE
from tidelog.wire.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

GROUP = 0
TRANSACTION = 1
SHARE = 2
FIRST_BATCHED_VERSION = 4


def handle(
    context: Context, request: FindCoordinatorRequest
) -> FindCoordinatorResponse | Coroutine[None, None, FindCoordinatorResponse]:
    keepers = _keepers(context, request.key_type)
    if keepers is not None and not keepers.has_topic:
        return _after_creating(context, request, keepers)
    return _answer(context, request)


def _keepers(context: Context, key_type: int) -> Groups | Transactions | None:
    if key_type == GROUP:
        return context.services.groups
    return context.services.transactions if key_type == TRANSACTION else None


async def _after_creating(
    context: Context, request: FindCoordinatorRequest, keepers: Groups | Transactions
) -> FindCoordinatorResponse:
    try:
        await keepers.ensure_topic()
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
    keepers = _keepers(context, key_type)
    if keepers is None:
        why = "share groups are not offered" if key_type == SHARE else f"key type {key_type} is not known"
        return _refused(key, KafkaError(ErrorCode.INVALID_REQUEST, why))
    metadata = context.services.metadata
    topic = CONSUMER_OFFSETS if key_type == GROUP else TRANSACTION_STATE
    image = metadata.image.partition(topic, keepers.partition_of(key))
    for broker, where in metadata.reachable_brokers(context.connection.listener):
        if image is not None and broker.id == image.leader:
            return Coordinator(key=key, node_id=broker.id, host=where.host, port=where.port)
    return _refused(key, KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE))


def _refused(key: str, error: KafkaError) -> Coordinator:
    return Coordinator(
        key=key, node_id=-1, host="", port=-1, error_code=error.code, error_message=error.message
    )
