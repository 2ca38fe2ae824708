"""DeleteGroups: empty groups go, with everything they committed."""

from collections import defaultdict

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.coordinators.runtime.served_partition import ServedPartition
from tidelog.broker.requests.context import Context
from tidelog.groups.shard import GroupShard
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.wire.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)


async def handle(context: Context, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    results: dict[str, ErrorCode] = {}
    by_partition: dict[ServedPartition[GroupShard], list[str]] = defaultdict(list)
    for group_id in request.groups_names:
        if not context.allows(Operation.DELETE, ResourceType.GROUP, group_id):
            results[group_id] = ErrorCode.GROUP_AUTHORIZATION_FAILED
            continue
        try:
            by_partition[context.services.groups.of(group_id)].append(group_id)
        except KafkaError as error:
            results[group_id] = error.code
    for served, group_ids in by_partition.items():
        decision = served.shard.delete_groups(group_ids, *served.now)
        for deleted in await served.run(decision, list):
            results[deleted.group_id] = deleted.error
    return DeleteGroupsResponse(
        results=[DeletableGroupResult(group_id=group, error_code=code) for group, code in results.items()]
    )
