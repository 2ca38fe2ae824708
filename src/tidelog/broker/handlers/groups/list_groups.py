"""ListGroups: the groups that this broker looks after and the client may see, by state and by kind."""

from tidelog.broker.requests.context import Context
from tidelog.security.acls.vocabulary import CLUSTER_NAME, ResourceType
from tidelog.wire.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse


def handle(context: Context, request: ListGroupsRequest) -> ListGroupsResponse:
    sees_all = context.may_see(ResourceType.CLUSTER, CLUSTER_NAME)
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
            if sees_all or context.may_see(ResourceType.GROUP, group.group_id)
        ]
    )
