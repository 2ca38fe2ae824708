"""ReadShareGroupStateSummary: where a group is in a partition, without the states of records."""

from typing import Any

from tidelog.broker.handlers.shares.state_requests import serve
from tidelog.broker.requests.context import Context
from tidelog.broker.shares.coordinator_apis import READ_SUMMARY
from tidelog.wire.messages.read_share_group_state_summary import ReadShareGroupStateSummaryRequest


def handle(context: Context, request: ReadShareGroupStateSummaryRequest) -> Any:
    return serve(context, READ_SUMMARY, request)
