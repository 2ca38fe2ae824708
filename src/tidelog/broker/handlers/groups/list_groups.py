"""ListGroups: the groups that this broker looks after, by state and by kind."""

from tidelog.broker.requests.context import Context
from tidelog.wire.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse


def handle(context: Context, request: ListGroupsRequest) -> ListGroupsResponse:
    return ListGroupsResponse(
        groups=[
            ListedGroup(
                group_id=group.group_id,
                protocol_type=group.protocol_type,
                group_state=group.group_state,
                group_type=group.group_type,
            )
            for serving in context.services.groups
            for group in serving.shard.list_groups(request.states_filter, request.types_filter)
        ]
    )
