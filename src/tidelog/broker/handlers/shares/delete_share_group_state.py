"""DeleteShareGroupState: a group is done with a partition."""

from typing import Any

from tidelog.broker.handlers.shares.state_requests import serve
from tidelog.broker.requests.context import Context
from tidelog.broker.shares.coordinator_apis import DELETE
from tidelog.wire.messages.delete_share_group_state import DeleteShareGroupStateRequest


def handle(context: Context, request: DeleteShareGroupStateRequest) -> Any:
    return serve(context, DELETE, request)
