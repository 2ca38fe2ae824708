"""InitializeShareGroupState: a group begins with a partition, or begins it anew."""

from typing import Any

from tidelog.broker.handlers.shares.state_requests import serve
from tidelog.broker.requests.context import Context
from tidelog.broker.shares.coordinator_apis import INITIALIZE
from tidelog.wire.messages.initialize_share_group_state import InitializeShareGroupStateRequest


def handle(context: Context, request: InitializeShareGroupStateRequest) -> Any:
    return serve(context, INITIALIZE, request)
