"""Where the share groups of topics stand, as the coordinators on this broker have it stored.

A leader asks every broker: the states of the groups of one partition are spread over all shards.
"""

import asyncio
from collections.abc import Iterable, Mapping

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import Uuid
from tidelog.broker.coordinators.runtime.served_partition import ServedPartition
from tidelog.broker.coordinators.share_states import ShareStates
from tidelog.coordination.decision import ShardDecision
from tidelog.shares.state.shard import ShareStateShard
from tidelog.wire.messages.share_start_offsets import (
    ShareStart,
    ShareStartGroup,
    ShareStartOffsetsRequest,
    ShareStartOffsetsResponse,
    ShareStartShard,
)


async def stored_starts(states: ShareStates, request: ShareStartOffsetsRequest) -> ShareStartOffsetsResponse:
    """A shard that cannot commit what it knows is left out, as is one that is not loaded."""
    wanted = {topic.topic_id: set(topic.partitions) for topic in request.topics}
    answers = [_of_shard(served, wanted) for served in states.service]
    waiting = [answer for answer in answers if isinstance(answer, asyncio.Future)]
    if waiting:
        await asyncio.wait(waiting)
    given = [one.result() if isinstance(one, asyncio.Future) else one for one in answers]
    return ShareStartOffsetsResponse(shards=[one for one in given if one is not None])


def _of_shard(
    served: ServedPartition[ShareStateShard], wanted: Mapping[Uuid, set[int]]
) -> "ShareStartShard | asyncio.Future[ShareStartShard | None] | None":
    """What the shard knows now, once it is committed: the next coordinator knows it, too."""
    partition = served.partition
    answer = ShareStartShard(
        state_partition=partition.index,
        leader_epoch=partition.leader_epoch,
        groups=list(_groups(served.shard, wanted)),
    )
    decision: ShardDecision[ShareStartShard | None] = ShardDecision.of(answer, _refused)
    return served.run_in_order(decision, _same)


def _groups(shard: ShareStateShard, wanted: Mapping[Uuid, set[int]]) -> Iterable[ShareStartGroup]:
    """Every group with a state at any partition of the topics, and its states at those that are wanted."""
    found: dict[tuple[str, Uuid], ShareStartGroup] = {}
    for place, summary in shard.summaries(wanted):
        key = place.group_id, place.topic_id
        group = found.get(key)
        if group is None:
            group = found[key] = ShareStartGroup(group_id=place.group_id, topic_id=place.topic_id)
        if place.partition in wanted[place.topic_id]:
            group.partitions.append(
                ShareStart(
                    partition=place.partition,
                    start_offset=summary.start_offset,
                    leader_epoch=summary.leader_epoch,
                )
            )
    return found.values()


def _refused(_: ErrorCode) -> None:
    return None


def _same(answer: ShareStartShard | None) -> ShareStartShard | None:
    return answer
