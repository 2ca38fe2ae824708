"""FindCoordinator: which broker looks after a group or a transactional id.

This broker keeps neither groups nor transactions yet. COORDINATOR_NOT_AVAILABLE is the answer that
consumers with a `group.id` but self-assigned partitions take in their stride.
"""

from tidelog.base.errors import ErrorCode
from tidelog.broker.context import Context
from tidelog.wire.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

KEY_TYPES = {0: "consumer groups", 1: "transactions", 2: "share groups"}


def handle(context: Context, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    what = KEY_TYPES.get(request.key_type)
    if what is None:
        code, text = ErrorCode.INVALID_REQUEST, f"key type {request.key_type} is not known"
    else:
        code, text = ErrorCode.COORDINATOR_NOT_AVAILABLE, f"this broker does not offer {what}"
    if context.version < 4:
        return FindCoordinatorResponse(error_code=code, error_message=text, node_id=-1, host="", port=-1)
    return FindCoordinatorResponse(
        coordinators=[
            Coordinator(key=key, node_id=-1, host="", port=-1, error_code=code, error_message=text)
            for key in request.coordinator_keys
        ]
    )
