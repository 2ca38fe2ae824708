"""DeleteGroups: empty groups go, with everything they committed."""

from collections import defaultdict

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.coordinators.group_partition import GroupPartition
from tidelog.broker.requests.context import Context
from tidelog.wire.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)


async def handle(context: Context, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    results: dict[str, ErrorCode] = {}
    homes: dict[GroupPartition, list[str]] = defaultdict(list)
    for group_id in request.groups_names:
        try:
            homes[context.services.groups.of(group_id)].append(group_id)
        except KafkaError as error:
            results[group_id] = error.code
    for home, group_ids in homes.items():
        outcome = home.shard.delete_groups(group_ids, *home.now)
        for deleted in await home.run(outcome, list):
            results[deleted.group_id] = deleted.error
    return DeleteGroupsResponse(
        results=[DeletableGroupResult(group_id=group, error_code=code) for group, code in results.items()]
    )
