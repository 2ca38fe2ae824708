"""DeleteGroups: empty groups go, with everything they committed, or with their share state."""

from collections import defaultdict

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.coordinators.runtime.served_partition import ServedPartition
from tidelog.broker.handlers.group_states import group_states_of
from tidelog.broker.requests.context import Context
from tidelog.broker.turns import in_turns, names_in_turns
from tidelog.groups.shard import GroupShard
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.wire.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)

GROUPS_AT_ONCE = 256
"""Deleted in one step: each takes all that it has committed along."""


async def handle(context: Context, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    results: dict[str, ErrorCode] = {}
    by_partition: dict[ServedPartition[GroupShard], list[str]] = defaultdict(list)
    async for named in names_in_turns(list(dict.fromkeys(request.groups_names)), len):
        for group_id in named:
            if not context.allows(Operation.DELETE, ResourceType.GROUP, group_id):
                results[group_id] = ErrorCode.GROUP_AUTHORIZATION_FAILED
                continue
            try:
                await _delete_share_state(context, group_id)
                by_partition[context.services.groups.of(group_id)].append(group_id)
            except KafkaError as error:
                results[group_id] = error.code
    for served, group_ids in by_partition.items():
        async for piece in in_turns(group_ids, GROUPS_AT_ONCE):
            if served.is_closed:  # it moved to another broker since the groups were looked for
                results.update(dict.fromkeys(piece, ErrorCode.NOT_COORDINATOR))
                continue
            decision = served.shard.delete_groups(piece, *served.now)
            for deleted in await served.run(decision, list):
                results[deleted.group_id] = deleted.error
    return DeleteGroupsResponse(
        results=[DeletableGroupResult(group_id=group, error_code=code) for group, code in results.items()]
    )


async def _delete_share_state(context: Context, group_id: str) -> None:
    """Of a share group, before its own records go: they alone tell what there is to delete."""
    served = context.services.groups.of(group_id)
    if group_id not in served.shard_as_written.durable.share_groups:
        return
    decision = served.shard.delete_share_states(group_id, *served.now)
    answer = await served.run(decision, lambda answer: answer)
    if answer.error:
        raise KafkaError(answer.error)
    if answer.to_delete is not None:
        errors = await group_states_of(context.services).delete(answer.to_delete)
        for error in filter(None, errors.values()):
            raise KafkaError(error)
