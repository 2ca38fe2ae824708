"""OffsetFetch: what groups have committed; one group in old versions, many in new ones."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.context import Context
from tidelog.groups.offset_messages import FetchedGroup, FetchedOffset, FetchedTopic, FetchGroup, FetchTopic
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


def handle(context: Context, request: OffsetFetchRequest) -> OffsetFetchResponse:
    if context.version >= FIRST_VERSION_WITH_GROUPS:
        return OffsetFetchResponse(groups=[_of_group(context, request, group) for group in request.groups])
    topics = request.topics
    wanted = FetchGroup(
        request.group_id,
        None if topics is None else [FetchTopic(topic.name, topic.partition_indexes) for topic in topics],
    )
    fetched = _fetch(context, request, wanted)
    if fetched.error and context.version < FIRST_VERSION_WITH_ERROR:
        # There is no place for an error but at each partition.
        refused = [
            FetchedTopic(name, [FetchedOffset(index, error=fetched.error) for index in indexes])
            for name, indexes in wanted.topics or ()
        ]
        fetched = FetchedGroup(fetched.group_id, refused)
    return OffsetFetchResponse(error_code=fetched.error, topics=[_old_topic(t) for t in fetched.topics])


def _fetch(context: Context, request: OffsetFetchRequest, wanted: FetchGroup) -> FetchedGroup:
    try:
        home = context.services.groups.of(wanted.group_id)
    except KafkaError as error:
        return FetchedGroup(wanted.group_id, error=error.code)
    return home.shard.fetch(wanted, require_stable=request.require_stable)


def _of_group(
    context: Context, request: OffsetFetchRequest, asked: OffsetFetchRequestGroup
) -> OffsetFetchResponseGroup:
    by_id = context.version >= FIRST_VERSION_BY_ID
    names: list[FetchTopic] | None = None
    strangers: list[OffsetFetchRequestTopics] = []
    if asked.topics is not None:
        names = []
        for topic in asked.topics:
            known = context.services.metadata.image.topic_by_id(topic.topic_id) if by_id else None
            if by_id and known is None:
                strangers.append(topic)
            else:
                names.append(FetchTopic(known.name if known else topic.name, topic.partition_indexes))
    wanted = FetchGroup(asked.group_id, names, asked.member_id, asked.member_epoch)
    fetched = _fetch(context, request, wanted)
    answer = OffsetFetchResponseGroup(group_id=fetched.group_id, error_code=fetched.error)
    if not fetched.error:
        answer.topics = [_topic(context, topic) for topic in fetched.topics if _is_shown(context, topic)]
        answer.topics += [_stranger(topic) for topic in strangers]
    return answer


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
