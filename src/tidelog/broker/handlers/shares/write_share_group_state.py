"""WriteShareGroupState: a leader saves what a group does with its partition."""

from typing import Any

from tidelog.broker.handlers.shares.state_requests import serve
from tidelog.broker.requests.context import Context
from tidelog.broker.shares.coordinator_apis import WRITE
from tidelog.wire.messages.write_share_group_state import WriteShareGroupStateRequest


def handle(context: Context, request: WriteShareGroupStateRequest) -> Any:
    return serve(context, WRITE, request)
