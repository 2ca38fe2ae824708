"""ReadShareGroupState: a leader loads what a group has done with its partition; older leaders are fenced."""

from typing import Any

from tidelog.broker.handlers.shares.state_requests import serve
from tidelog.broker.requests.context import Context
from tidelog.broker.shares.coordinator_apis import READ
from tidelog.wire.messages.read_share_group_state import ReadShareGroupStateRequest


def handle(context: Context, request: ReadShareGroupStateRequest) -> Any:
    return serve(context, READ, request)
