"""OffsetFetch: what groups have committed; one group in old versions, many in new ones."""

import asyncio
from collections.abc import Coroutine

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.handlers.groups.screened_fetch import ScreenedFetch, screened_fetch
from tidelog.broker.handlers.when_served import waits_for_group
from tidelog.broker.requests.answer import response_of
from tidelog.broker.requests.context import Context
from tidelog.broker.turns import fits_in_a_turn, names_in_turns
from tidelog.groups.offsets.messages import FetchedGroup, FetchedOffset, FetchedTopic, FetchGroup, FetchTopic
from tidelog.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

FIRST_VERSION_WITH_ERROR = 2
FIRST_VERSION_WITH_GROUPS = 8
FIRST_VERSION_BY_ID = 10


def _asked(request: OffsetFetchRequest) -> list[str]:
    """Old versions ask for one group, new ones for many."""
    return [group.group_id for group in request.groups] or [request.group_id]


@waits_for_group(_asked)
def handle(
    context: Context, request: OffsetFetchRequest
) -> OffsetFetchResponse | Coroutine[None, None, OffsetFetchResponse]:
    if not fits_in_a_turn(_asked(request)):
        return _in_turns(context, request)
    return _handle(context, request)


async def _in_turns(context: Context, request: OffsetFetchRequest) -> OffsetFetchResponse:
    response = OffsetFetchResponse()
    async for piece in names_in_turns(request.groups, lambda group: len(group.group_id)):
        part = OffsetFetchRequest(groups=list(piece), require_stable=request.require_stable)
        response.groups += (await response_of(_handle(context, part))).groups
    return response


def _handle(
    context: Context, request: OffsetFetchRequest
) -> OffsetFetchResponse | Coroutine[None, None, OffsetFetchResponse]:
    asked = [screened_fetch(context, wanted) for wanted in _wanted(context, request)]
    found = [_fetch(context, request, one) for one in asked]
    ready = [one for one in found if isinstance(one, FetchedGroup)]
    if len(ready) == len(found):
        return _respond(context, request, asked, ready)
    return _later(context, request, asked, found)


async def _later(
    context: Context,
    request: OffsetFetchRequest,
    asked: list[ScreenedFetch],
    found: "list[FetchedGroup | asyncio.Future[FetchedGroup]]",
) -> OffsetFetchResponse:
    """An offset was committed a moment ago: wait until every in-sync replica has it."""
    ready = [one if isinstance(one, FetchedGroup) else await one for one in found]
    return _respond(context, request, asked, ready)


def _wanted(context: Context, request: OffsetFetchRequest) -> list[FetchGroup]:
    if context.version < FIRST_VERSION_WITH_GROUPS:
        topics = request.topics
        named = None if topics is None else [FetchTopic(t.name, t.partition_indexes) for t in topics]
        return [FetchGroup(request.group_id, named)]
    return [
        FetchGroup(group.group_id, _names(context, group), group.member_id, group.member_epoch)
        for group in request.groups
    ]


def _names(context: Context, asked: OffsetFetchRequestGroup) -> list[FetchTopic] | None:
    if asked.topics is None:
        return None
    if context.version < FIRST_VERSION_BY_ID:
        return [FetchTopic(topic.name, topic.partition_indexes) for topic in asked.topics]
    image = context.services.metadata.image
    return [
        FetchTopic(known.name, topic.partition_indexes)
        for topic in asked.topics
        if (known := image.topic_by_id(topic.topic_id)) is not None
    ]


def _fetch(
    context: Context, request: OffsetFetchRequest, screened: ScreenedFetch
) -> "FetchedGroup | asyncio.Future[FetchedGroup]":
    wanted = screened.fetch
    if not screened.is_allowed:
        return FetchedGroup(wanted.group_id, error=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    try:
        served = context.services.groups.of(wanted.group_id)
    except KafkaError as error:
        return FetchedGroup(wanted.group_id, error=error.code)
    return served.when_replicated(
        lambda: served.shard.fetch(wanted, require_stable=request.require_stable),
        lambda error: FetchedGroup(wanted.group_id, error=error),
    )


def _respond(
    context: Context, request: OffsetFetchRequest, asked: list[ScreenedFetch], found: list[FetchedGroup]
) -> OffsetFetchResponse:
    fetched = [screened.shown(context, group) for screened, group in zip(asked, found, strict=True)]
    if context.version >= FIRST_VERSION_WITH_GROUPS:
        pairs = zip(request.groups, fetched, strict=True)
        return OffsetFetchResponse(groups=[_group(context, named, group) for named, group in pairs])
    [only] = fetched
    if only.error and context.version < FIRST_VERSION_WITH_ERROR:
        # There is no place for an error but at each partition.
        refused = [
            FetchedTopic(t.name, [FetchedOffset(index, error=only.error) for index in t.partition_indexes])
            for t in request.topics or ()
        ]
        only = FetchedGroup(only.group_id, refused)
    return OffsetFetchResponse(error_code=only.error, topics=[_old_topic(t) for t in only.topics])


def _group(
    context: Context, asked: OffsetFetchRequestGroup, fetched: FetchedGroup
) -> OffsetFetchResponseGroup:
    answer = OffsetFetchResponseGroup(group_id=fetched.group_id, error_code=fetched.error)
    if not fetched.error:
        answer.topics = [_topic(context, topic) for topic in fetched.topics if _is_shown(context, topic)]
        answer.topics += [_stranger(topic) for topic in asked.topics or () if _is_stranger(context, topic)]
    return answer


def _is_stranger(context: Context, topic: OffsetFetchRequestTopics) -> bool:
    by_id = context.version >= FIRST_VERSION_BY_ID
    return by_id and context.services.metadata.image.topic_by_id(topic.topic_id) is None


def _is_shown(context: Context, topic: FetchedTopic) -> bool:
    """By id only topics that exist can be shown; a deleted one's offsets are about to go."""
    image = context.services.metadata.image
    return context.version < FIRST_VERSION_BY_ID or image.topic(topic.name) is not None


def _topic(context: Context, topic: FetchedTopic) -> OffsetFetchResponseTopics:
    shown = OffsetFetchResponseTopics(
        name=topic.name,
        partitions=[
            OffsetFetchResponsePartitions(
                partition_index=offset.partition_index,
                committed_offset=offset.committed_offset,
                committed_leader_epoch=offset.committed_leader_epoch,
                metadata=offset.metadata,
                error_code=offset.error,
            )
            for offset in topic.partitions
        ],
    )
    known = context.services.metadata.image.topic(topic.name)
    if known is not None:
        shown.topic_id = known.id
    return shown


def _stranger(topic: OffsetFetchRequestTopics) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        topic_id=topic.topic_id,
        partitions=[
            OffsetFetchResponsePartitions(
                partition_index=index, committed_offset=-1, metadata="", error_code=ErrorCode.UNKNOWN_TOPIC_ID
            )
            for index in topic.partition_indexes
        ],
    )


def _old_topic(topic: FetchedTopic) -> OffsetFetchResponseTopic:
    return OffsetFetchResponseTopic(
        name=topic.name,
        partitions=[
            OffsetFetchResponsePartition(
                partition_index=offset.partition_index,
                committed_offset=offset.committed_offset,
                committed_leader_epoch=offset.committed_leader_epoch,
                metadata=offset.metadata,
                error_code=offset.error,
            )
            for offset in topic.partitions
        ],
    )
